"""The server behind a real reverse proxy with a path prefix, in a real browser; and the request ids in its log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs import Client
from rprs.errors import UsageError
from rprs.serve.prefix import as_root_path, to_home
from tests.support.browser import visit
from tests.support.cli import QUERY, sample_index
from tests.support.proxy import Proxy, proxied
from tests.support.server import Server, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PREFIX = "/office/similar"


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("proxy"))


@pytest.fixture(scope="module")
def both(index_path: Path) -> Iterator[tuple[Server, dict[str, Proxy]]]:
    """A server behind a proxy that removes the prefix, and behind one that keeps it."""
    with proxied(PREFIX, strip=True) as stripping, proxied(PREFIX, strip=False) as keeping:
        names = ("--allow-host", stripping.host, "--allow-host", keeping.host)
        with served(index_path, "--root-path", f"{PREFIX}/", *names) as server:
            port = int(re.search(r":(\d+)/", f"{server.url}/").group(1))  # type: ignore[union-attr]  # it is there
            stripping.upstream = keeping.upstream = port
            yield server, {"stripped": stripping, "kept": keeping}


@pytest.mark.parametrize("way", ["stripped", pytest.param("kept", marks=pytest.mark.slow)])
def test_the_whole_interface_works_below_a_prefix(
    chrome: Browser, both: tuple[Server, dict[str, Proxy]], way: str
) -> None:
    """All requests stay below the prefix: `visit` fails on any other."""
    proxy = both[1][way]
    with visit(chrome, proxy.url) as visited:
        page = visited.search(text=QUERY)
        ids = visited.ids()
        assert ids
        assert page.url == f"{proxy.url}/#results"
        visited.compare(ids[0])
        page.reload()
        page.locator(".aligned").wait_for()
        page.keyboard.press("Escape")
        page.locator("#hits").wait_for()
        page.locator("#home").click()
        assert page.url == f"{proxy.url}/"
        visited.open(f"/?id={ids[0]}&k=5")
        page.locator("#hits").wait_for()
        assert page.locator("header .icon").first.bounding_box()  # an icon of the set is drawn
        page.locator("a.plain", has_text="API").click()
        page.get_by_role("link", name="openapi.json").wait_for()
        assert page.url == f"{proxy.url}/docs"
        assert page.get_by_role("link", name="openapi.json").get_attribute("href") == "api/v1/openapi.json"
        page.goto(f"{proxy.url}/no/such/page")
        visited.expect_error("404")
        page.get_by_role("link", name="Back to the search").click()
        page.locator("#search-form:not([inert])").wait_for(state="attached")
        assert page.url == f"{proxy.url}/"


def test_client_and_addresses_below_a_prefix(both: tuple[Server, dict[str, Proxy]]) -> None:
    server, proxies = both
    assert server.url.endswith(PREFIX)
    for proxy in proxies.values():
        with Client(proxy.url) as client:
            assert client.search(QUERY, 2)
    direct = proxies["kept"]
    bare = httpx.get(direct.url, trust_env=False)
    assert (bare.status_code, bare.headers["location"]) == (308, "similar/")
    assert "frame-ancestors 'none'" in bare.headers["content-security-policy"]
    schema = httpx.get(f"{direct.url}/api/v1/openapi.json", trust_env=False).json()
    assert schema["servers"] == [{"url": PREFIX}]


def test_a_request_id_is_in_the_response_and_in_the_log(both: tuple[Server, dict[str, Proxy]]) -> None:
    server, proxies = both
    url = f"{proxies['kept'].url}/api/v1/health"
    given_id = "0123456789abcdef0123456789abcdef"
    for sent, expected in (
        (given_id, given_id),
        (None, r"[0-9a-f]{16}"),
        ("a name, not an id", r"[0-9a-f]{16}"),
    ):
        response = httpx.get(url, trust_env=False, headers={} if sent is None else {"X-Request-ID": sent})
        id = response.headers["x-request-id"]
        assert re.fullmatch(expected, id)
        line = rf"(?m)^\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z {id} GET /api/v1/health 200 \d+ ms \d+ kB$"
        until = monotonic() + 10
        while not re.search(line, server.logged()):  # it is written once the response has been sent
            assert monotonic() < until, server.logged()
            sleep(0.02)


# ---------------------------------------------------------------------------- paths


@pytest.mark.parametrize(("text", "path"), [("", ""), ("/", ""), ("/a", "/a"), ("/a/b-c/", "/a/b-c")])
def test_root_paths(text: str, path: str) -> None:
    assert as_root_path(text) == path


@pytest.mark.parametrize("text", ["a", "/a b", "//a", "/a?b", "/a/../b", "/.", "http://a/b", "/ä"])
def test_a_wrong_root_path_is_one_line(text: str) -> None:
    with pytest.raises(UsageError, match="--root-path must be a path such as /search") as error:
        as_root_path(text)
    assert "\n" not in str(error.value)


@given(st.lists(st.text("abc", min_size=1, max_size=3), max_size=5), st.booleans())
def test_the_way_home_is_relative_to_any_path(parts: list[str], is_folder: bool) -> None:
    """Checked against the resolution of relative addresses by another library."""
    path = "/" + "/".join(parts) + "/" * (is_folder and bool(parts))
    for prefix in ("", "/office/similar"):
        resolved = httpx.URL(f"http://host{prefix}{path}").join(to_home(path))
        assert resolved.path == f"{prefix}/"
