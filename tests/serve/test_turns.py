"""Work takes turns: in order, a few milliseconds at a time, and despite errors."""

from __future__ import annotations

import asyncio
from functools import partial
from time import perf_counter

from rprs.serve.turns import TURN, Turns


def test_everything_is_done_in_order_and_others_come_in_between() -> None:
    async def main() -> tuple[list[int], int]:
        turns, done, between = Turns(), [], 0

        def work(number: int) -> None:
            end = perf_counter() + TURN / 4
            while perf_counter() < end:
                pass
            done.append(number)

        for number in range(40):
            turns.add(partial(work, number))
        while len(done) < 40:
            await asyncio.sleep(0)
            between += 1
        return done, between

    done, between = asyncio.run(main())
    assert done == list(range(40))
    assert between >= 10  # four in each turn


def test_an_error_does_not_keep_the_others_from_their_turns() -> None:
    async def main() -> tuple[list[str], list[str]]:
        turns = Turns()
        done: list[str] = []
        errors: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(str(context["exception"])))

        def fail() -> None:
            raise ValueError("a bug")

        turns.add(partial(done.append, "before"))
        turns.add(fail)
        turns.add(partial(done.append, "after"))
        await asyncio.sleep(0.01)
        turns.add(partial(done.append, "later"))
        await asyncio.sleep(0.01)
        return done, errors

    assert asyncio.run(main()) == (["before", "after", "later"], ["a bug"])


def test_work_may_add_work() -> None:
    async def main() -> list[str]:
        turns = Turns()
        done: list[str] = []
        turns.add(lambda: turns.add(partial(done.append, "second")))
        await asyncio.sleep(0.01)
        return done

    assert asyncio.run(main()) == ["second"]
