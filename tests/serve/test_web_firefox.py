"""The web interface in a real Firefox: from a pasted text to a match side by side, and in a narrow window."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import QUERY, sample_index
from tests.support.firefox import firefox
from tests.support.server import served

ERRORS = """window.problems = [];
const note = event => window.problems.push(String(event.message ?? event.reason ?? event.violatedDirective));
for (const name of ["error", "unhandledrejection", "securitypolicyviolation"]) addEventListener(name, note);"""
LEVEL = """const numbers = [...document.querySelectorAll(".number.current")];
const [left, right] = numbers.map(number => number.getBoundingClientRect().y);
return Math.abs(left - right) < 40;"""


@pytest.mark.browser
def test_the_same_page_works_in_firefox(tmp_path: Path) -> None:
    with firefox() as window, served(sample_index(tmp_path)) as server:
        window.resize(1280, 900)
        window.open(server.url)
        window.evaluate(ERRORS)
        window.find("#search-form:not([inert]) #text")
        window.type("#text", QUERY)
        window.click("#submit")
        window.find("#hits .pair")
        assert "of your document has a counterpart here" in window.evaluate("return document.body.innerText")
        window.click(".hit .hide")
        window.click("#hidden-results > summary")
        window.click("#hidden-results .restore")
        window.wait("return !document.querySelector('#hidden-results')")
        window.click("#hits .pair")
        window.wait("return document.querySelectorAll('.number.current').length === 2")
        window.wait(LEVEL)
        assert window.evaluate("return getComputedStyle(document.querySelector('.match')).textDecorationLine")
        window.click("#aligned-gaps")
        window.find(".aligned-side.query .gap-count")
        window.click(".kind-toggle")
        assert window.evaluate("return document.querySelector('.kind-toggle').ariaPressed") == "false"
        window.click(".kind-toggle")
        assert window.evaluate("return window.problems") == []
        window.resize(500, 800)  # the least width of a window
        window.wait("return matchMedia('(max-width: 799px)').matches")
        window.click(".aligned-bar button[title^=Next]")
        window.find(".partner .quote")
        assert window.evaluate("return document.querySelector('.aligned-text').clientWidth") > 400
        assert window.evaluate("return document.scrollingElement.scrollWidth <= innerWidth")
        window.reload()
        window.find(".aligned")  # the pasted text survived the reload
        window.click(".back")
        window.find("#hits .hit")
        assert window.evaluate("return document.querySelector('#results-title').textContent").startswith("“")
