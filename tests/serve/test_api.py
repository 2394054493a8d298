"""The API of a real server: results, progress, cancellation, changes."""

from __future__ import annotations

import json
import resource
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from rprs import Document, Index, Searcher, System, Writer
from tests.support.cli import QUERY, TEXTS, rprs_ok, sample_index
from tests.support.server import TOKEN, Server, served

SECRET = "Zyzzyva"  # a word that must not appear in a log
JSON = {"content-type": "application/json"}
JOB = "abcdef0123" * 4


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("api"))


@pytest.fixture(scope="module")
def api(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def writable(index_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server that allows changes, on a copy of the index."""
    path = tmp_path_factory.mktemp("api") / "mine.rprs"
    shutil.copytree(index_path, path)
    with served(path, "--allow-write") as running, running.client() as client:
        yield client


def json_of(response: httpx.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    return response.json()


def refusal(response: httpx.Response, status: int) -> str:
    """The message of an error."""
    error = json_of(response, status)
    assert set(error) == {"error", "kind"}
    assert "\n" not in error["error"]
    return str(error["error"])


def events(text: str) -> list[tuple[str, Any]]:
    parts = [part.split("\n", 1) for part in text.strip().split("\n\n") if not part.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


# ---------------------------------------------------------------------------- the same as the command line


class TestResponses:
    def test_for_a_text_an_upload_and_an_id_equal_the_command_line(self, index_path: Path, api: httpx.Client) -> None:
        """Every field of every hit, the scores to the last digit: the objects equal the printed lines."""
        file = index_path.parent / "query.txt"
        printed = [
            json.loads(line) for line in rprs_ok("search", index_path, file, "--format", "jsonl").out.splitlines()
        ]
        assert len(printed) == 10
        uploaded = json_of(api.post("/search", files={"file": ("query.txt", file.read_bytes())}))
        assert uploaded["hits"] == printed
        text = json_of(api.post("/search", json={"documents": [{"id": "query.txt", "text": file.read_text()}]}))
        assert text["hits"] == printed
        printed = rprs_ok("search", index_path, "--id", "loan.txt", "--format", "jsonl", "-k", "3").objects
        assert json_of(api.post("/search", json={"ids": ["loan.txt"], "k": 3}))["hits"] == printed

    def test_scores_are_printed_as_on_the_command_line(self, index_path: Path, api: httpx.Client) -> None:
        printed = rprs_ok("search", index_path, "--id", "loan.txt", "--format", "jsonl").out
        text = api.post("/search", json={"ids": ["loan.txt"]}).text
        for line in printed.splitlines():
            score = line.partition('"score": ')[2].partition(",")[0]
            assert f'"score": {score},' in text

    def test_for_several_documents_and_a_filter(self, index_path: Path, api: httpx.Client) -> None:
        request = {"text": QUERY, "ids": ["loan.txt"], "where": "id != lease.txt", "pairs": 1, "echo": True}
        response = json_of(api.post("/search", json=request))
        with Index(index_path) as index:
            seeds = [Document("query", QUERY), index.document("loan.txt")]
            expected = Searcher(index).search(seeds, where="id != lease.txt", pairs=1)
            assert response["about"]["fingerprint"] == index.fingerprint
        assert [(hit["id"], hit["score"]) for hit in response["hits"]] == [(hit.id, hit.score) for hit in expected]
        first, second = response["query"]["seeds"]
        assert response["query"]["text"][first["start"] : first["end"]] == QUERY
        assert response["query"]["text"][second["start"] :] == seeds[1].text
        assert (first["indexed"], second["indexed"]) == (False, True)

    def test_under_a_date_limit(self, index_path: Path, api: httpx.Client) -> None:
        dated = {"text": QUERY, "metadata": {"date": "2008-11-20"}}
        request = {"documents": [dated], "before": "date", "undated": "drop"}
        response = json_of(api.post("/search", json=request))
        with Index(index_path) as index:
            query = Document("query", QUERY, "", {"date": "2008-11-20"})
            expected = Searcher(index).search(query, before="date", undated="drop")
        assert [(hit["id"], hit["score"]) for hit in response["hits"]] == [(hit.id, hit.score) for hit in expected]
        assert response["notes"] == list(expected.notes)
        assert (response["about"]["before"], response["about"]["undated"]) == ("date=2008-11-20", "drop")
        assert response["query"]["seeds"][0]["metadata"] == {"date": "2008-11-20"}
        explained = json_of(api.post("/explain", json={**request, "document": "moss-v-reed"}))
        assert explained["explanation"]["notes"] == list(expected.notes)
        exported = api.post("/export", json={**request, "format": "trec"}).text
        assert "|before=date=2008-11-20|undated=drop|" in exported
        assert "date=2008-11-20" in api.post("/report", json={**request, "document": "moss-v-reed"}).text

    def test_note_that_a_document_with_the_same_id_is_left_out(self, api: httpx.Client) -> None:
        """As on the command line: an uploaded file may share its name with another document by chance."""
        files = {"file": ("lease.txt", QUERY.encode())}
        response = json_of(api.post("/search", files=files))
        assert response["notes"] == ["'lease.txt' in the index is left out because it has the same id as the query"]
        assert "lease.txt" not in {hit["id"] for hit in response["hits"]}
        response = json_of(api.post("/search", files=files, data={"request": '{"keep_self": true}'}))
        assert (response["notes"], response["hits"][0]["id"]) == ([], "lease.txt")
        assert json_of(api.post("/search", json={"ids": ["lease.txt"]}))["notes"] == []

    def test_explain_has_both_texts_and_their_sentences(self, index_path: Path, api: httpx.Client) -> None:
        file = index_path.parent / "query.txt"
        printed = rprs_ok("explain", index_path, file, "lease.txt", "--format", "jsonl").objects[0]
        request = {
            "documents": [{"id": "query.txt", "title": "query", "text": file.read_text()}],
            "document": "lease.txt",
        }
        response = json_of(api.post("/explain", json=request))
        assert response["explanation"] == printed
        for pair in response["explanation"]["pairs"]:
            for side in ("query", "document"):
                start, end = pair[f"{side}_span"]
                assert response[side]["text"][start:end] == pair[side]
                starts, ends = zip(*response[side]["spans"], strict=True)
                assert pair["kind"] != "same idea" or (start in starts and end in ends)  # whole sentences
        assert len(response["document"]["spans"]) == len(response["document"]["paragraphs"]) == printed["sentences"]

    def test_two_documents_are_aligned(self, index_path: Path, api: httpx.Client) -> None:
        file = index_path.parent / "query.txt"
        (printed,) = rprs_ok("align", file, "lease.txt", "--index", index_path, "--format", "jsonl").objects
        query = {"id": "query.txt", "title": "query", "text": file.read_text()}
        response = json_of(api.post("/align", json={"query": query, "document": "lease.txt"}))
        assert response["alignment"] == printed
        assert response["document"]["text"] == TEXTS["lease.txt"]
        assert response["query"]["seeds"][0]["id"] == "query.txt"
        swapped = json_of(api.post("/align", json={"query": "lease.txt", "document": query}))["alignment"]
        assert swapped["query_coverage"] == printed["document_coverage"]
        bare = {"query": query, "document": "lease.txt", "boilerplate": False}
        without = json_of(api.post("/align", json=bare))["alignment"]
        assert without["query_coverage"] == printed["without_boilerplate"]["query_coverage"]
        assert "no document 'x'" in refusal(api.post("/align", json={"query": "x", "document": query}), 404)
        form = api.post("/align", files={"file": ("a.txt", b"x")}, data={"request": json.dumps(bare)})
        assert "must be application/json" in refusal(form, 415)

    def test_grouping_and_boilerplate_are_options(self, api: httpx.Client) -> None:
        body = {"text": QUERY, "group": False, "boilerplate": False}
        about = json_of(api.post("/search", json=body))["about"]
        assert (about["grouping"], about["boilerplate"]) == ("none", "left out")
        usual = json_of(api.post("/search", json={"text": QUERY}))
        assert (usual["about"]["grouping"], usual["about"]["boilerplate"]) == (None, None)
        hit = usual["hits"][0]
        assert {"query_coverage", "document_coverage", "relation", "duplicates"} <= {*hit}
        report = api.post("/report", json={"text": QUERY, "document": hit["id"], "kinds": ["identical"]}).text
        assert "Left out here: reworded and same idea." in report
        assert "kinds" in refusal(api.post("/report", json={"text": QUERY, "document": hit["id"], "kinds": ["x"]}), 422)

    def test_documents_are_listed_and_returned(self, index_path: Path, api: httpx.Client) -> None:
        response = json_of(api.get("/documents", params={"find": "LOAN"}))
        assert [document["id"] for document in response["documents"]] == ["loan.txt"]
        with Index(index_path) as index:
            assert json_of(api.get("/documents/loan.txt"))["text"] == index.document("loan.txt").text
            info = json_of(api.get("/info"))
            assert (info["documents"], info["fingerprint"]) == (len(index), index.fingerprint)
        system = System()
        stages = {"first": str(system.first), "rerank": str(system.rerank)}
        assert info["settings"] == {**stages, "depth": 100, "cutoff": None}
        assert {"pdf", "docx", "rtf", "html", "txt"} <= set(info["suffixes"])

    def test_settings_are_those_of_the_server(self, index_path: Path, tmp_path: Path) -> None:
        settings = tmp_path / "tuned.toml"
        settings.write_text('first = "bm25(k1=1.2,b=0.5)"\nrerank = "sdr"\ndepth = 4\ncutoff = "2"\n')
        printed = rprs_ok("search", index_path, "--id", "loan.txt", "--settings", settings, "--format", "jsonl").objects
        with served(index_path, "--settings", settings) as other, other.client() as client:
            response = json_of(client.post("/search", json={"ids": ["loan.txt"]}))
            assert response["hits"] == printed
            assert len(printed) == 2
            assert response["about"]["cutoff"] == "2"


# ---------------------------------------------------------------------------- progress and stopping


class TestProgress:
    def test_is_streamed_stage_by_stage(self, api: httpx.Client) -> None:
        files = {"file": ("query.txt", QUERY.encode())}
        response = api.post("/search", files=files, headers={"accept": "text/event-stream"})
        assert response.headers["content-type"].startswith("text/event-stream")
        stream = events(response.text)
        assert [name for name, _ in stream if name != "progress"] == ["job", "result"]
        stages = list(dict.fromkeys(data["stage"] for name, data in stream if name == "progress"))
        assert stages == ["reading", "sentences", "candidates", "ranking"]
        last = {data["stage"]: data for name, data in stream if name == "progress"}
        assert (last["sentences"]["done"], last["sentences"]["total"]) == (6, 6)
        assert last["candidates"]["done"] == stream[-1][1]["candidates"]
        plain = json_of(api.post("/search", files={"file": ("query.txt", QUERY.encode())}))
        assert stream[-1][1]["hits"] == plain["hits"]

    def test_an_error_is_an_event(self, api: httpx.Client) -> None:
        response = api.post("/search", json={"text": " \n"}, headers={"accept": "text/event-stream"})
        name, data = events(response.text)[-1]
        assert (name, data["status"], data["kind"]) == ("error", 422, "EmptyQuery")


LONG = "\n\n".join(f"The {number}th tenant did not pay the rent to the owner." for number in range(60_000))


class TestCancellation:
    def test_a_job_is_cancelled_by_its_name(self, server: Server) -> None:
        answers: list[httpx.Response] = []

        def search() -> None:
            with server.client(headers={"x-job": JOB}) as client:
                answers.append(client.post("/search", json={"text": LONG}))

        thread = threading.Thread(target=search)
        thread.start()
        with server.client() as client:
            _until(lambda: client.delete(f"/jobs/{JOB}").status_code == 204)
            thread.join()
            assert "cancelled" in refusal(answers[0], 409)
            assert client.delete(f"/jobs/{JOB}").status_code == 204  # it has ended already
            assert "No job can have this name" in refusal(client.delete("/jobs/0123456789"), 404)

    def test_a_cancellation_may_arrive_before_its_job(self, server: Server) -> None:
        with server.client(headers={"x-job": "c" * 32}) as client:
            assert client.delete(f"/jobs/{'c' * 32}").status_code == 204
            assert "cancelled" in refusal(client.post("/search", json={"text": QUERY}), 409)

    def test_the_job_of_a_client_that_disconnects_is_stopped(self, server: Server) -> None:
        """It is stopped rather than finished, and its thread has ended."""
        before = _metric(server, "rprs_jobs_stopped_total")
        with server.client() as client, pytest.raises(httpx.ReadTimeout):
            client.post("/search", json={"text": f"{LONG} One."}, timeout=1.0)
        _until(lambda: _metric(server, "rprs_jobs_stopped_total") == before + 1)
        with server.client(headers={"accept": "text/event-stream"}) as client:
            with client.stream("POST", "/search", json={"text": f"{LONG} Two."}) as response:
                next(line for line in response.iter_lines() if '"sentences", "done": 1' in line)
            _until(lambda: _metric(server, "rprs_jobs_stopped_total") == before + 2)
        _until(lambda: _metric(server, "rprs_jobs_working") == 0)

    def test_a_request_over_the_time_limit_is_stopped(self, index_path: Path) -> None:
        with served(index_path, "--max-seconds", 0.3) as quick, quick.client() as client:
            assert "longer than the 0.3 seconds" in refusal(client.post("/search", json={"text": LONG}), 504)
            _until(lambda: bool(client.post("/search", json={"text": QUERY}).json().get("hits")))

    def test_requests_beyond_the_queue_are_refused(self, index_path: Path) -> None:
        """One runs, one waits, the third is refused; meanwhile the metrics are available."""
        with served(index_path, "--at-once", 1, "--waiting", 1) as small, small.client() as client:
            threads = [threading.Thread(target=_search, args=(small, name)) for name in ("a" * 32, "b" * 32)]
            for thread, sign in zip(threads, ("rprs_jobs_working 1.0", "rprs_jobs_waiting 1.0"), strict=True):
                thread.start()
                _until(partial(_metrics_contain, small, sign))
            for accept in ("application/json", "text/event-stream"):
                third = client.post("/search", json={"text": QUERY}, headers={"accept": accept})
                assert "busy" in refusal(third, 503)
                assert int(third.headers["retry-after"]) > 0
            for name in ("a" * 32, "b" * 32):
                assert client.delete(f"/jobs/{name}").status_code == 204
            for thread in threads:
                thread.join()
            _until(lambda: bool(client.post("/search", json={"text": QUERY}).json().get("hits")))


def _search(server: Server, name: str) -> None:
    with server.client(headers={"x-job": name}) as client:
        client.post("/search", json={"text": LONG + name})


def _metrics_contain(server: Server, sign: str) -> bool:
    return sign in httpx.get(f"{server.url}/metrics", trust_env=False).text


def _metric(server: Server, name: str) -> float:
    lines = httpx.get(f"{server.url}/metrics", trust_env=False).text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("the condition was not met within 60 seconds")


# ---------------------------------------------------------------------------- changes


class TestChanges:
    def test_are_visible_to_the_next_request(self, index_path: Path, tmp_path: Path) -> None:
        path = tmp_path / "mine.rprs"
        shutil.copytree(index_path, path)
        with served(path, "--allow-write") as writable, writable.client() as client:
            before = json_of(client.get("/info"))["fingerprint"]
            new: dict[str, Any] = {"id": "a/../b c.txt", "text": QUERY, "title": "Mine", "metadata": {"year": 2020}}
            response = json_of(client.post("/documents", json={"documents": [new, {"id": "empty", "text": " "}]}))
            assert (response["added"], response["skipped"]) == (1, ["empty: contains no text"])
            assert response["fingerprint"] != before
            assert json_of(client.get("/documents/a%2F..%2Fb%20c.txt"))["metadata"] == {"year": 2020}
            assert (
                json_of(client.post("/search", json={"text": QUERY, "keep_self": True}))["hits"][0]["id"] == new["id"]
            )
            uploaded = {"file": ("more.jsonl", b'{"id": "x", "text": "One more. "}\n{"id": "y"}\n')}
            response = json_of(client.post("/documents", files=uploaded))
            assert response["added"] == 1
            assert len(response["skipped"]) == 1
            assert json_of(client.delete("/documents/x"))["removed"] == 1
            assert "no document" in refusal(client.delete("/documents/x"), 404)
            with Writer(path) as writer:
                assert "another process" in refusal(client.delete("/documents/lease.txt"), 409)
                writer.remove([new["id"]])
            assert json_of(client.get("/info"))["fingerprint"] == before
            assert refusal(client.get("/documents/a%2F..%2Fb%20c.txt"), 404)

    def test_numbers_beyond_floats_are_refused(self, writable: httpx.Client) -> None:
        def add(number: object) -> httpx.Response:
            body = f'{{"documents": [{{"id": "x", "text": "Words.", "metadata": {{"n": {number}}}}}]}}'
            return writable.post("/documents", content=body, headers=JSON)

        for number in ("NaN", "-Infinity", "1e999"):
            assert refusal(add(number), 422).startswith("documents.0.metadata.n: ")
        json_of(add(10**400))
        assert json_of(writable.get("/documents/x"))["metadata"]["n"] == 10**400
        assert "n" not in {field["name"] for field in json_of(writable.get("/info"))["fields"]}

    def test_files_without_documents_are_one_short_line(self, writable: httpx.Client) -> None:
        files = {"file": ("bad.jsonl", b'{"id": "x"}\n' * 500)}
        line = refusal(writable.post("/documents", files=files), 422)
        assert line.startswith("bad.jsonl")
        assert line.endswith("(and 499 more)")

    def test_a_replaced_index_is_visible(self, index_path: Path, tmp_path: Path) -> None:
        path, other = tmp_path / "mine.rprs", tmp_path / "other.rprs"
        shutil.copytree(index_path, path)
        shutil.copytree(index_path, other)
        with Writer(other) as writer:
            writer.remove(["lease.txt"])
        with served(path) as running, running.client() as client:
            assert json_of(client.get("/documents/lease.txt"))
            path.rename(tmp_path / "old.rprs")
            for _ in range(2):
                assert "no index at mine.rprs" in refusal(client.get("/documents/lease.txt"), 500)
            other.rename(path)
            assert refusal(client.get("/documents/lease.txt"), 404)
            with Writer(path) as writer:
                writer.remove(["loan.txt"])
            assert json_of(client.get("/info"))["documents"] == 10

    @pytest.mark.slow
    def test_are_visible_under_a_low_limit_on_open_files(self, index_path: Path, tmp_path: Path) -> None:
        """Arrays do not stay open, although the old snapshot is still open while the new one is opened."""
        path = tmp_path / "mine.rprs"
        shutil.copytree(index_path, path)
        for number in range(30):
            with Writer(path) as writer:
                writer.add([Document(f"new-{number}", f"{QUERY} {number}")])
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
        try:
            with served(path) as running, running.client() as client:
                assert len(list(Path(f"/proc/{running.process.pid}/fd").iterdir())) < 60
                with Writer(path) as writer:
                    writer.remove(["new-1"])
                assert json_of(client.post("/search", json={"text": QUERY}))["about"]["documents"] == 41
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_require_permission(self, api: httpx.Client) -> None:
        assert "--allow-write" in refusal(api.delete("/documents/lease.txt"), 403)
        assert "--allow-write" in refusal(api.post("/documents", json={"documents": []}), 403)

    def test_are_allowed_with_a_token(self, index_path: Path, tmp_path: Path) -> None:
        path, token = tmp_path / "mine.rprs", tmp_path / "token"
        shutil.copytree(index_path, path)
        token.touch(0o600)
        token.write_text(TOKEN)
        with served(path, "--token-file", token) as guarded:
            with guarded.client() as stranger:
                assert refusal(stranger.get("/info"), 401)
                assert json_of(stranger.get("/health")) == {"status": "ok"}
            with guarded.client(headers={"authorization": f"Bearer {TOKEN}"}) as friend:
                assert json_of(friend.delete("/documents/lease.txt"))["removed"] == 1
