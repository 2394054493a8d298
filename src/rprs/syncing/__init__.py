"""Keep an index in sync with a folder: what was added, changed, moved or deleted there.

`listing` finds the files, `plan` compares them with what the index has recorded of the last time (`index.sources`),
`changes` reads and commits what differs, `synchronise` puts these together, and `watch` does so again and again.
"""

from rprs.syncing.synchronise import Synced, sync

__all__ = ["Synced", "sync"]
