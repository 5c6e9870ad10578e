"""Memories in one language are found by questions in another, and by a word of two characters inside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from wirekit.processes import Server, serving
from wirekit.waiting import until
from wirekit.web import ask, done

pytestmark = pytest.mark.model

LOAD_LIMIT_S = 180.0
TOLD = "本番データベースのバックアップは毎晩二時に大阪の倉庫へ送られます。"

# Other memories of the same store, near in language or in subject, so that the right one has to be chosen.
OTHERS = (
    "デプロイは木曜日の午後に行い、金曜日には決して行いません。",
    "田中さんはコードレビューでタブよりスペースを好みます。",
    "会議室の予約は総務の佐藤さんに頼んでください。",
    "ステージング環境のポート番号は五四三三です。",
    "猫の名前はミケで、魚よりも鶏肉が好きです。",
    "社員食堂のカレーは水曜日だけ半額になります。",
    "生产环境的日志保留九十天，之后自动删除。",
    "团队每周一上午十点在三号会议室开例会。",
    "小李对花生过敏，订餐时请注意。",
    "部署前必须先运行数据库迁移脚本。",
    "新员工的电脑由信息部在入职当天发放。",
    "春节期间的值班表已经发到群里。",
    "The design review of the billing service is on Monday.",
    "Ana prefers tabs; Bo wants spaces and will not discuss it.",
    "The office plants are watered by whoever comes first.",
    "Staging is rebuilt from scratch every weekend.",
    "The API gateway times out after thirty seconds.",
    "Our mascot is a heron that once stole a sandwich.",
)


@pytest.fixture(scope="module")
def server(e5_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the default embedder, on a store that holds all of the above with their vectors."""
    folder = tmp_path_factory.mktemp("languages") / "data"
    folder.mkdir()
    (folder / "models").symlink_to(e5_models)
    with serving(folder, embedder=()) as running:
        until(lambda: ask(running.url, "GET", "/readyz").json["embedder"] == "ready", "the model", LOAD_LIMIT_S)
        for text in (*OTHERS[:9], TOLD, *OTHERS[9:]):
            done(running.mcp, "remember", content=text)
        until(lambda: ask(running.url, "GET", "/readyz").json["pending"] == 0, "all vectors", LOAD_LIMIT_S)
        yield running


@pytest.mark.parametrize(
    "question",
    [
        "数据库备份什么时候送到哪里？",
        "生产数据库的备份存放在哪个城市？",
        "When and where are the database backups sent?",
        "Where do we keep copies of the production database at night?",
        "データベースの控えはどこに保管していますか？",
    ],
)
def test_a_japanese_memory_is_found_by_questions_in_other_languages(server: Server, question: str) -> None:
    found = done(server.mcp, "recall", query=question, limit=3)
    assert TOLD in [item["content"] for item in found["items"]]
    assert set(found["search"]["engines"]) == {"text", "vectors"}


@pytest.mark.parametrize("word", ["大阪", "毎晩", "倉庫"])
def test_a_word_of_two_characters_inside_a_memory_finds_it_first(server: Server, word: str) -> None:
    found = done(server.mcp, "recall", query=word, limit=3)
    assert found["items"][0]["content"] == TOLD


@pytest.mark.parametrize(
    ("word", "memory"), [("过敏", OTHERS[8]), ("迁移", OTHERS[9]), ("heron", OTHERS[17]), ("総務", OTHERS[2])]
)
def test_short_words_of_each_language_find_their_memory_first(server: Server, word: str, memory: str) -> None:
    assert done(server.mcp, "recall", query=word, limit=3)["items"][0]["content"] == memory
