"""The names of measures in trec_eval, as names in this package: `ndcg_cut_10` is nDCG@10, `map` is AP.

As in trec_eval, a name without its cut-off stands for all usual cut-offs: `P` is P@5, P@10 and so on to P@1000.
"""

from __future__ import annotations

import re

__all__ = ["expand_trec_name"]

_CUTOFFS = tuple(map(str, (5, 10, 15, 20, 30, 100, 200, 500, 1000)))
_PLAIN = {
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "infAP": "infAP",
    "map": "AP",
    "ndcg": "nDCG",
    "num_q": "NumQ",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "num_ret": "NumRet",
    "recip_rank": "RR",
    "set_F": "SetF",
    "set_P": "SetP",
    "set_map": "SetAP",
    "set_recall": "SetR",
    "set_relative_P": "SetRelP",
}
_WITH_PARAMETER = {  # the form in this package, and the values that a bare name stands for
    "P": ("P@{}", _CUTOFFS),
    "iprec_at_recall": ("IPrec@{}", tuple(f"{tenths / 10}" for tenths in range(11))),
    "map_cut": ("AP@{}", _CUTOFFS),
    "ndcg_cut": ("nDCG@{}", _CUTOFFS),
    "recall": ("R@{}", _CUTOFFS),
    "set_F": ("SetF(beta={})", ()),
    "success": ("Success@{}", ("1", "5", "10")),
}
_PARAMETER = re.compile(r"(?P<name>\w+?)[._](?P<value>\d+(\.\d+)?)")


def expand_trec_name(name: str) -> tuple[str, ...]:
    """The measures that a name of trec_eval stands for; any other text is returned unchanged."""
    if name in _PLAIN:
        return (_PLAIN[name],)
    if name in _WITH_PARAMETER:
        form, values = _WITH_PARAMETER[name]
        return tuple(form.format(value) for value in values)
    match = _PARAMETER.fullmatch(name)
    if match and match["name"] in _WITH_PARAMETER:
        return (_WITH_PARAMETER[match["name"]][0].format(match["value"]),)
    return (name,)
