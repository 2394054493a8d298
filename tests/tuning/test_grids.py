"""Grids as texts and boxes, and how queries are assigned to folds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.errors import UsageError
from rprs.tuning.choose import deal
from rprs.tuning.grids import DEPTHS, Axes, Bm25Grid, CutoffGrid, RprsGrid, Value, parse_axis


class TestTexts:
    @pytest.mark.parametrize(
        ("text", "name", "values"),
        [
            ("n=1..4", "n", (1, 2, 3, 4)),
            ("k1=0..1/0.2", "k1", (0, 0.2, 0.4, 0.6, 0.8, 1.0)),
            ("k1 = 0..10/2.5", "k1", (0, 2.5, 5.0, 7.5, 10.0)),
            ("b=1,0.5,0", "b", (0, 0.5, 1)),
            ("kli=0.3,none,0.1..0.2/0.05", "kli", (None, 0.1, 0.15, 0.2, 0.3)),
            ("depth=15..100/30,50", "depth", (15, 45, 50, 75)),
            ("scorer=cross,cosine", "scorer", ("cross", "cosine")),
            ("flag=true,false", "flag", (True, False)),
            ("x=-1..1", "x", (-1, 0, 1)),
            ("x=1e-3,2", "x", (0.001, 2)),
        ],
    )
    def test_values(self, text: str, name: str, values: tuple[Value, ...]) -> None:
        assert parse_axis(text) == (name, values)

    def test_decimals_are_short(self) -> None:
        assert parse_axis("k1=0..3/0.2")[1][1:] == RprsGrid().k1[1:]
        assert [repr(value) for value in parse_axis("b=0..1/0.1")[1][1:10]] == [f"0.{digit}" for digit in range(1, 10)]
        assert all(len(repr(value)) <= 4 for value in (*RprsGrid().k1, *RprsGrid().b, *CutoffGrid().p))

    def test_integers_stay_integers(self) -> None:
        assert [type(value) for value in parse_axis("n=1..2,3,4.0")[1]] == [int, int, int, float]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("n", "Cannot read the grid 'n': write a parameter and its values"),
            ("=1", "Cannot read the grid '=1'"),
            ("n=", "a value is missing"),
            ("n=1,,2", "a value is missing"),
            ("n=1..x", "Cannot read the range '1..x' of 'n=1..x'"),
            ("n=3..1", "The range '3..1' of 'n=3..1' must rise"),
            ("n=1..3/0", "Cannot read the range '1..3/0'"),
            ("n=1..3/-1", "must rise"),
            ("n=0..1/1e-9", "fewer than 100,000 steps"),
        ],
    )
    def test_mistakes(self, text: str, message: str) -> None:
        with pytest.raises(UsageError) as caught:
            parse_axis(text)
        assert message in str(caught.value)


class TestBoxes:
    def test_the_grids_of_the_paper(self) -> None:
        assert len(RprsGrid().axes([50])) == 1760
        assert RprsGrid().axes(DEPTHS).shape == (18, 10, 16, 11)
        assert (DEPTHS[0], DEPTHS[-1]) == (15, 100)
        assert Bm25Grid().axes().values["kli"] == (None, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

    def test_a_point_and_its_number_convert_to_each_other(self) -> None:
        axes = RprsGrid(n=[3, 1], k1=[0, 2], b=[1]).axes([10, 5])
        assert axes.points() == [axes.point(number) for number in range(len(axes))]
        assert [axes.number(point) for point in axes.points()] == list(range(8))
        assert axes.number({"depth": 5, "n": 2, "k1": 0.0, "b": 1.0}) is None
        assert axes.point(0) == {"depth": 5, "n": 1, "k1": 0.0, "b": 1.0}

    def test_among_equals_the_smaller_k1_then_n_then_b_then_depth_wins(self) -> None:
        axes = RprsGrid(n=[1, 2], k1=[0, 1], b=[0, 1]).axes([5, 10])
        left = list(range(len(axes)))
        order = []
        while left:
            left.remove(best := axes.preferred(left))
            order.append(tuple(axes.point(best)[name] for name in ("k1", "n", "b", "depth")))
        assert order == sorted(order)

    def test_a_best_value_at_the_end_of_a_grid_is_noted_unless_it_is_the_last_possible(self) -> None:
        axes = RprsGrid(n=[1, 2], k1=[0, 1, 3], b=[0, 1]).axes([50])
        assert axes.at_the_end(len(axes) - 1) == ["n", "k1"]
        assert axes.at_the_end(0) == []

    @pytest.mark.parametrize(
        ("grid", "message"),
        [
            (RprsGrid(n=[1.5]), "The grid of n must be integers in [1, inf). Got 1.5 instead."),  # type: ignore[list-item]
            (RprsGrid(n=[0]), "The grid of n must be integers in [1, inf). Got 0 instead."),
            (RprsGrid(k1=["x"]), "The grid of k1 must be numbers. Got 'x' instead."),  # type: ignore[list-item]
            (RprsGrid(b=[]), "The grid has no value for b"),
        ],
    )
    def test_wrong_values(self, grid: RprsGrid, message: str) -> None:
        with pytest.raises(UsageError) as caught:
            grid.axes([50])
        assert message in str(caught.value)

    def test_texts_for_the_record(self) -> None:
        assert Axes({"kli": (None, 0.5), "flag": (True,), "n": (1, 2)}, ()).describe() == {
            "kli": "none,0.5",
            "flag": "true",
            "n": "1,2",
        }


class TestFolds:
    @given(st.dictionaries(st.text(max_size=3), st.sampled_from(["", "a", "b", "c"]), min_size=3), st.integers(2, 5))
    def test_texts_stay_together_and_folds_are_even(self, contents: dict[str, str], folds: int) -> None:
        group = {query: (text, "") if text else ("", query) for query, text in contents.items()}
        if folds > len(set(group.values())):
            with pytest.raises(UsageError, match=r"The number of folds must be in"):
                deal(contents, folds)
            return
        dealt = deal(contents, folds)
        assert dealt.keys() == contents.keys()
        places = {own: {dealt[query] for query in contents if group[query] == own} for own in group.values()}
        assert all(len(numbers) == 1 for numbers in places.values())
        sizes = [sum(place == {fold} for place in places.values()) for fold in range(folds)]
        assert max(sizes) - min(sizes) <= 1

    def test_the_same_every_time(self) -> None:
        queries = {f"q{number}": "" for number in range(10)}
        backwards = dict(reversed(queries.items()))
        assert deal(queries, 5) == deal(backwards, 5)
        assert deal(queries, 5) != deal(queries, 5, seed=1)
        dealt = list(deal(queries, 5).values())
        assert sorted(dealt) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_only_numbers_continue_beyond_the_last_value() -> None:
    axes = Axes({"form": ("full", "no_dp"), "n": (1, 2)}, ("n", "form"))
    assert axes.at_the_end(3) == ["n"]
