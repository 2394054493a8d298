"""Which node holds which shards: replicas on different nodes, and as little moved as possible."""

from __future__ import annotations

from collections import Counter

from rprs.cluster.placement import HolderState, New, Plan, choose_groups, plan

GROUPS = [(0, 2), (1, 3)]


def holder(name: str, node: str, shards: tuple[int, ...] = (0, 2), replica: int = 0, alive: bool = True) -> HolderState:
    return HolderState(name, 1, shards, replica, alive, node)


def test_replicas_are_on_different_nodes_which_hold_equally_many() -> None:
    for number in range(2, 6):
        nodes = [f"n{each}" for each in range(number)]
        groups = [(each,) for each in range(2 * number)]
        made = plan(groups, nodes, 2, [])
        assert not made.surplus
        assert len({(new.shards, new.node) for new in made.new}) == len(made.new) == 4 * number
        assert set(Counter(new.node for new in made.new).values()) == {4}
        assert {new.replica for new in made.new} == {0, 1}


def test_holders_stay_where_they_are() -> None:
    present = [
        holder("a", "n1"),
        holder("b", "n0", replica=1),
        holder("c", "n0", (1, 3)),
        holder("d", "n1", (1, 3), replica=1),
    ]
    assert plan(GROUPS, ["n0", "n1"], 2, present) == Plan((), ())


def test_one_of_two_replicas_on_a_node_moves_to_a_free_one() -> None:
    present = [
        holder("a", "n0"),
        holder("b", "n0", replica=1),
        holder("c", "n0", (1, 3)),
        holder("d", "n0", (1, 3), replica=1),
    ]
    assert plan(GROUPS, ["n0", "n1"], 2, present) == Plan(
        (New((0, 2), 1, "n1"), New((1, 3), 1, "n1")),
        ("b", "d"),
    )


def test_holders_that_are_lost_too_many_or_of_other_groups_are_replaced() -> None:
    present = [
        holder("lost", "", alive=False),
        holder("gone", "n9", replica=1),
        holder("other", "n1", (0, 1, 2, 3)),
        holder("a", "n0", (1, 3)),
        holder("b", "n1", (1, 3), replica=1),
        holder("c", "n2", (1, 3), replica=2),
    ]
    made = plan(GROUPS, ["n0", "n1", "n2"], 2, present)
    assert made.surplus == ("lost", "gone", "other", "c")
    assert [new.shards for new in made.new] == [(0, 2), (0, 2)]
    assert made.new[0].node == "n2"  # which holds least


def test_groups_stay_as_they_are_while_a_machine_is_away() -> None:
    present = [holder("a", "n0"), holder("b", "n0", (1, 3))]
    assert choose_groups(4, None, 2, []) == GROUPS
    assert choose_groups(4, None, 4, present) == GROUPS
    assert choose_groups(4, 1, 4, present) == [(0, 1, 2, 3)]
    assert choose_groups(4, None, 4, present[:1]) == [(0,), (1,), (2,), (3,)]  # not all of them are there
    assert choose_groups(4, 9, 1, present) == [(0,), (1,), (2,), (3,)]
