"""Reading and stamping against a server that misbehaves (known faults 2, 4, 16, 19, 20, 22, 29)."""

from __future__ import annotations

import base64
import io
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from faulty_imap import HOST, PASSWORD, USER, FaultyImap, Script, Stored, faulty_imap
from hypothesis import given, settings
from hypothesis import strategies as st

import tgv_dagster
from tgv_dagster.arrive.imap import (
    Everything,
    Fetched,
    FetchOutcome,
    Session,
    Unseen,
    WithMessageId,
    looks_like_stub,
)
from tgv_dagster.arrive.imap_connection import (
    FolderRefused,
    ImapSettings,
    LoginRefused,
    MailboxUnreachable,
    NoCredentials,
    SearchRefused,
    SessionLost,
    TlsMode,
    ValidityChanged,
    chunked,
    compress,
    folder_spellings,
)
from tgv_dagster.arrive.imap_seen import SeenStamper, StampOutcome

RAW = b"Subject: a\r\nMessage-ID: <a@x>\r\n\r\n" + b"Zeile\r\n" * 400
STUB = (
    b"From: Postmaster\r\nSubject: Retrieval using the IMAP4 protocol failed for the following "
    b"message: 12\r\n\r\nThe server couldn't retrieve the following message:\r\nSubject: x\r\n"
)


def settings_for(server: FaultyImap, **changes: object) -> ImapSettings:
    values: dict[str, object] = {
        "host": HOST,
        "port": server.port,
        "user": USER,
        "password": PASSWORD,
        "tls": TlsMode.NONE,
        "read_timeout": 10.0,
        "slice_bytes": 1_000,
    }
    return ImapSettings(**(values | changes))  # pyright: ignore[reportArgumentType]


@contextmanager
def session(script: Script, **changes: object) -> Iterator[tuple[Session, FaultyImap]]:
    with faulty_imap(script) as server, Session(settings_for(server, **changes)) as opened:
        yield opened, server


def fetched(script: Script, uid: int = 1, **changes: object) -> tuple[Fetched, bytes]:
    target = io.BytesIO()
    with session(script, **changes) as (opened, _):
        return opened.fetch(uid, target), target.getvalue()


class TestSearch:
    @pytest.mark.parametrize("answer", ["no", "bad", "garbage", "empty", "silent"])
    @pytest.mark.parametrize("criterion", [Unseen(), Everything()])
    def test_an_answer_that_is_none_never_looks_like_an_empty_mailbox(self, answer, criterion):
        with (
            session(Script([Stored(1, RAW)], search=answer)) as (opened, _),
            pytest.raises(SearchRefused),
        ):
            opened.search(criterion)

    @pytest.mark.parametrize("answer", ["normal", "silent"])
    def test_an_empty_mailbox_is_empty(self, answer: str):
        with session(Script([], search=answer)) as (opened, _):
            assert opened.look().unseen == ()

    def test_all_read_is_nothing_unseen(self):
        with session(Script([Stored(1, RAW, seen=True)])) as (opened, _):
            assert opened.look().unseen == ()
            assert opened.search(Everything()) == (1,)

    @pytest.mark.parametrize("answer", ["split", "twice"])
    def test_split_and_doubled_answers_give_every_uid_once(self, answer: str):
        mails = [Stored(uid, RAW) for uid in (7, 3, 9)]
        with session(Script(mails, search=answer)) as (opened, _):
            assert opened.search(Unseen()) == (3, 7, 9)

    def test_an_earlier_refused_answer_does_not_count_later(self):
        script = Script([Stored(1, RAW)], noise=(b"* SEARCH 99",))
        with session(script) as (opened, _):
            script.search = "no"
            with pytest.raises(SearchRefused):
                opened.search(Everything())
            script.search, script.noise = "normal", ()
            assert opened.search(Everything()) == (1,)

    def test_a_message_id_matches_whole(self):
        mails = [Stored(1, RAW), Stored(2, RAW.replace(b"<a@x>", b"<aa@xy>"))]
        with session(Script(mails)) as (opened, _):
            assert opened.search(WithMessageId("<a@x>")) == (1,)
            assert opened.search(WithMessageId("a@x")) == (1,)

    @pytest.mark.parametrize("badcharset", [True, False])
    def test_a_message_id_beyond_ascii_is_found_without_the_charset_too(self, badcharset: bool):
        named = RAW.replace(b"<a@x>", "<ä@x>".encode())
        script = Script([Stored(1, RAW), Stored(2, named)], badcharset=badcharset)
        with session(script) as (opened, server):
            assert opened.search(WithMessageId("ä@x")) == (2,)
            assert all(b"CHARSET" not in one for one in server.named("SEARCH ALL"))

    def test_message_ids_resolve_in_order_and_the_unknown_one_is_named(self):
        with session(Script([Stored(4, RAW)])) as (opened, _):
            found = opened.resolve(["nirgends@x", "a@x", ""])
        assert [(one.message_id, one.uids) for one in found] == [
            ("nirgends@x", ()),
            ("a@x", (4,)),
            ("", ()),
        ]


class TestValidity:
    @pytest.mark.parametrize(("told", "known"), [(100, 100), (None, None)])
    def test_a_refused_uidvalidity_is_unknown(self, told: int | None, known: int | None):
        with session(Script([Stored(1, RAW)], uidvalidity=[told])) as (opened, _):
            assert opened.look().uidvalidity is known

    def test_a_folder_made_anew_during_the_run_is_noticed(self):
        script = Script([Stored(1, RAW, drops=1)], uidvalidity=[100, 200])
        with session(script) as (opened, _):
            found = opened.fetch(1, io.BytesIO())
        assert found.outcome is FetchOutcome.VALIDITY_CHANGED
        assert found.uidvalidity == 100

    def test_a_search_does_not_go_on_in_another_folder(self):
        script = Script([Stored(1, RAW)], uidvalidity=[100, 200], drop_at_command="SEARCH")
        with session(script) as (opened, _), pytest.raises(ValidityChanged):
            opened.search(Unseen())


class TestFetch:
    def test_a_mail_comes_byte_for_byte_in_slices(self):
        found, raw = fetched(Script([Stored(1, RAW)]))
        assert found.outcome is FetchOutcome.FETCHED
        assert raw == RAW
        assert (found.received, found.announced) == (len(RAW), len(RAW))

    @settings(max_examples=25, deadline=None)
    @given(st.integers(1, 3_100), st.sampled_from(["normal", "short", "quoted"]))
    def test_every_length_comes_whole(self, length: int, answer: str):
        # One line, because a quoted string holds no line break.
        raw = (b'S: a\\b "c" ' * 400)[:length]
        found, got = fetched(Script([Stored(1, raw, answer=answer)]))
        assert found.complete
        assert got == raw

    @pytest.mark.parametrize("announced", [0, 10, len(RAW) - 1, len(RAW) + 1, 10_000])
    def test_a_wrong_size_is_an_outcome_of_its_own_and_costs_nothing(self, announced: int):
        found, raw = fetched(Script([Stored(1, RAW, announced=announced)]))
        assert found.outcome is FetchOutcome.SIZE_DIFFERS
        assert found.complete
        assert (found.announced, found.received) == (announced, len(RAW))
        assert raw == RAW

    @pytest.mark.parametrize("partial", ["ignored", "refused"])
    def test_a_server_without_slices_gives_the_mail_whole(self, partial: str):
        found, raw = fetched(Script([Stored(1, RAW)], partial=partial))
        assert found.outcome is FetchOutcome.FETCHED
        assert raw == RAW

    @pytest.mark.parametrize("answer", ["silent", "nil"])
    def test_an_empty_answer_is_asked_again_and_then_named(self, answer: str):
        with session(Script([Stored(1, RAW, answer=answer)])) as (opened, server):
            found = opened.fetch(1, io.BytesIO())
            asked = len([one for one in server.named("FETCH") if b"PEEK[]<0." in one])
        assert found.outcome is FetchOutcome.EMPTY
        assert asked == 2

    def test_a_mail_that_is_gone_is_gone_and_not_empty(self):
        found, raw = fetched(Script([Stored(1, RAW)]), uid=5)
        assert found.outcome is FetchOutcome.GONE
        assert raw == b""

    def test_one_refused_mail_leaves_the_others_alone(self):
        mails = [Stored(1, RAW), Stored(2, RAW, answer="no"), Stored(3, RAW)]
        with session(Script(mails)) as (opened, _):
            outcomes = [opened.fetch(uid, io.BytesIO()).outcome.value for uid in (1, 2, 3)]
        assert outcomes == ["fetched", "refused", "fetched"]

    def test_a_break_inside_the_body_is_read_again_from_the_start(self):
        found, raw = fetched(Script([Stored(1, RAW, drops=1)]))
        assert found.outcome is FetchOutcome.FETCHED
        assert raw == RAW

    def test_a_second_break_ends_this_mail_and_not_the_run(self):
        script = Script([Stored(1, RAW, drops=9), Stored(2, RAW)])
        with session(script) as (opened, _):
            lost = opened.fetch(1, io.BytesIO(b"alt"))
            after = opened.fetch(2, io.BytesIO())
        assert lost.outcome is FetchOutcome.CONNECTION_LOST
        assert after.outcome is FetchOutcome.FETCHED

    def test_a_lost_mail_leaves_an_empty_target(self):
        _, raw = fetched(Script([Stored(1, RAW, drops=9)]))
        assert raw == b""

    def test_above_the_size_limit_only_the_headers_come(self):
        found, raw = fetched(Script([Stored(1, RAW)]), size_limit=500)
        assert found.outcome is FetchOutcome.TOO_LARGE
        assert found.announced == len(RAW)
        assert found.headers == RAW.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        assert raw == b""

    def test_the_limit_holds_against_an_announced_lie(self):
        found, raw = fetched(Script([Stored(1, RAW, announced=10)]), size_limit=1_500)
        assert found.outcome is FetchOutcome.TOO_LARGE
        assert raw == b""

    def test_the_substitute_of_the_server_is_no_mail(self):
        found, raw = fetched(Script([Stored(1, STUB)]))
        assert found.outcome is FetchOutcome.STUB
        assert not found.complete
        assert raw == STUB

    def test_a_mail_that_speaks_of_a_substitute_is_a_mail(self):
        assert not looks_like_stub(b"Subject: Re: Retrieval using the IMAP4 protocol\r\n\r\nHm?")
        assert not looks_like_stub(STUB.replace(b"Subject: R", b"Subject: Fwd: R"))
        assert looks_like_stub(STUB)

    def test_two_mails_under_one_uid_are_named(self):
        found, raw = fetched(Script([Stored(1, RAW), Stored(1, STUB)]))
        assert found.outcome is FetchOutcome.DUPLICATE_UID
        assert raw == b""

    def test_unasked_news_of_other_mails_do_not_count(self):
        noise = (b"* 1 FETCH (FLAGS (\\Seen))", b"* 2 FETCH (UID 7 BODY[]<0> NIL)")
        found, raw = fetched(Script([Stored(5, RAW)], noise=noise), uid=5)
        assert found.outcome is FetchOutcome.FETCHED
        assert raw == RAW

    def test_what_cannot_be_written_is_the_callers_error(self):
        class Full(io.BytesIO):
            def write(self, *_: object) -> int:
                raise OSError(28, "no space left")

        with session(Script([Stored(1, RAW)])) as (opened, _):
            with pytest.raises(OSError, match="no space left"):
                opened.fetch(1, Full())
            assert opened.fetch(1, io.BytesIO()).complete

    def test_neither_envelope_nor_a_body_without_peek_is_ever_asked_for(self):
        with session(Script([Stored(1, RAW), Stored(2, RAW, answer="silent")])) as (opened, server):
            opened.look()
            opened.facts([1, 2])
            opened.search(WithMessageId("a@x"))
            for uid in (1, 2, 3):
                opened.fetch(uid, io.BytesIO())
            asked = b"\n".join(server.commands).upper()
        assert b"ENVELOPE" not in asked
        assert b"BODY[" not in asked
        assert b"RFC822 " not in asked.replace(b"RFC822.SIZE", b"")
        assert b"SELECT" not in asked
        assert b"STORE" not in asked


class TestFacts:
    def test_every_uid_has_one_answer(self):
        mails = [
            Stored(1, RAW, seen=True),
            Stored(2, RAW, answer="no"),
            Stored(3, RAW, answer="garbage"),
            Stored(4, RAW),
            Stored(5, RAW),
            Stored(5, STUB),
        ]
        with session(Script(mails)) as (opened, _):
            found = opened.facts([1, 2, 3, 4, 5, 9])
        assert [(one.uid, one.size, one.seen) for one in found.facts] == [
            (1, len(RAW), True),
            (4, len(RAW), False),
        ]
        assert found.gone == (9,)
        assert sorted(uid for uid, _ in found.failed) == [2, 3, 5]

    def test_thousands_of_uids_stay_below_the_line_limit(self):
        mails = [Stored(uid * 3, b"x") for uid in range(1, 3_001)]
        with session(Script(mails, max_line=1_100)) as (opened, server):
            found = opened.facts([one.uid for one in mails])
            longest = max(map(len, server.named("FETCH")))
        assert len(found.facts) == 3_000
        assert longest <= 1_100

    def test_a_break_is_survived(self):
        script = Script([Stored(1, RAW)], drop_at_command="FETCH")
        with session(script) as (opened, _):
            assert [one.uid for one in opened.facts([1]).facts] == [1]


class TestOpening:
    def test_nothing_to_log_in_with(self):
        with pytest.raises(NoCredentials):
            Session(ImapSettings(HOST, USER, port=1)).__enter__()

    def test_nobody_there(self):
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            free = probe.getsockname()[1]
        closed = ImapSettings(HOST, USER, port=free, password="x", tls=TlsMode.NONE)
        with pytest.raises(MailboxUnreachable):
            Session(closed).__enter__()

    def test_a_server_that_says_goodbye(self):
        script = Script(greeting=b"* BYE overloaded")
        with faulty_imap(script) as server, pytest.raises(MailboxUnreachable):
            Session(settings_for(server)).__enter__()

    def test_no_starttls_no_login(self):
        with faulty_imap(Script()) as server:
            with pytest.raises(MailboxUnreachable):
                Session(settings_for(server, tls=TlsMode.STARTTLS)).__enter__()
            assert server.named("LOGIN") == []

    def test_a_password_beyond_ascii_goes_by_sasl(self):
        with session(Script(), password="Schlüssel") as (_, server):
            assert server.named("LOGIN ") == []
            sent = base64.b64decode(server.commands[server.commands.index(
                next(iter(server.named("AUTHENTICATE")))) + 1])  # fmt: skip
        assert sent == f"\0{USER}\0Schlüssel".encode()

    def test_a_password_beyond_ascii_where_sasl_is_missing_is_refused_in_words(self):
        with faulty_imap(Script(sasl=False)) as server, pytest.raises(LoginRefused):
            Session(settings_for(server, password="Schlüssel")).__enter__()

    @pytest.mark.parametrize("typed", ["Entwürfe", "Entw&APw-rfe", "Entwu\u0308rfe"])
    def test_a_folder_is_found_under_every_spelling(self, typed: str):
        script = Script([Stored(1, RAW)], folders=(b"INBOX", b"Entw&APw-rfe"))
        with session(script, folder=typed) as (opened, _):
            assert opened.look().total == 1

    @pytest.mark.parametrize("name", ["R&D", "a & b", "&", "Alle & Keine-"])
    def test_an_ampersand_in_a_name_is_an_ampersand(self, name: str):
        assert folder_spellings(name)[0] == name
        written = name.replace("&", "&-").encode()
        with session(Script([Stored(1, RAW)], folders=(written,)), folder=name) as (opened, _):
            assert opened.look().total == 1

    def test_an_unknown_folder_is_refused(self):
        with faulty_imap(Script()) as server, pytest.raises(FolderRefused):
            Session(settings_for(server, folder="Nirgends")).__enter__()

    def test_the_secret_is_not_in_the_representation(self):
        shown = repr(ImapSettings(HOST, USER, password="geheim", access_token="token-1"))
        assert "geheim" not in shown
        assert "token-1" not in shown

    def test_a_session_that_is_not_open_says_so(self):
        with faulty_imap(Script()) as server:
            opened = Session(settings_for(server))
            with opened:
                pass
            server.stop()
            with pytest.raises(SessionLost):
                opened.search(Unseen())


class TestStamp:
    def stamps(self, script: Script, uids: list[int], validity: int | None = 100):
        with faulty_imap(script) as server:
            with SeenStamper(settings_for(server)) as stamper:
                found = stamper.mark_seen(uids, uidvalidity=validity)
            return [one.outcome for one in found], server

    def test_each_uid_fails_on_its_own_and_no_other_mail_is_touched(self):
        script = Script([Stored(1, RAW), Stored(2, RAW), Stored(3, RAW)])
        outcomes, server = self.stamps(script, [1, 0, 99, -1, 2**40, 3])
        assert outcomes == [
            StampOutcome.STAMPED,
            StampOutcome.INVALID_UID,
            StampOutcome.UNKNOWN_UID,
            StampOutcome.INVALID_UID,
            StampOutcome.INVALID_UID,
            StampOutcome.STAMPED,
        ]
        assert [one.uid for one in script.mails if one.seen] == [1, 3]
        assert all(b":" not in one.split(b" ")[3] for one in server.named("STORE"))

    @pytest.mark.parametrize("text", ["1:*", "*", "1,2"])
    def test_a_set_in_the_place_of_a_uid_stamps_nothing(self, text: str):
        script = Script([Stored(1, RAW), Stored(2, RAW)])
        outcomes, server = self.stamps(script, [text])  # pyright: ignore[reportArgumentType]
        assert outcomes == [StampOutcome.INVALID_UID]
        assert server.named("STORE") == []

    def test_uids_of_a_folder_that_was_made_anew_stamp_nothing(self):
        script = Script([Stored(1, RAW)], uidvalidity=[200])
        outcomes, server = self.stamps(script, [1])
        assert outcomes == [StampOutcome.VALIDITY_CHANGED]
        assert server.named("STORE") == []

    @pytest.mark.parametrize("mode", ["no", "silent"])
    def test_a_flag_that_was_not_set_is_not_reported_as_set(self, mode: str):
        outcomes, _ = self.stamps(Script([Stored(1, RAW)], store=mode), [1])
        assert outcomes == [StampOutcome.REFUSED]

    def test_a_flag_that_was_there_before_is_set(self):
        outcomes, _ = self.stamps(Script([Stored(1, RAW, seen=True)], store="silent"), [1])
        assert outcomes == [StampOutcome.STAMPED]

    def test_a_break_between_two_stamps_is_survived(self):
        script = Script([Stored(1, RAW), Stored(2, RAW)], store="drop")
        outcomes, _ = self.stamps(script, [1, 2])
        assert outcomes == [StampOutcome.STAMPED, StampOutcome.STAMPED]

    def test_a_folder_made_anew_behind_a_break_is_not_stamped(self):
        script = Script([Stored(1, RAW), Stored(2, RAW)], store="drop", uidvalidity=[100, 200])
        outcomes, _ = self.stamps(script, [1, 2])
        assert outcomes == [StampOutcome.VALIDITY_CHANGED] * 2
        assert not any(one.seen for one in script.mails)

    def test_a_folder_without_write_access_is_refused_at_once(self):
        with faulty_imap(Script(read_only=True)) as server, pytest.raises(FolderRefused):
            SeenStamper(settings_for(server)).__enter__()


def test_a_reading_session_has_no_way_to_a_flag():
    reachable = {name for name in dir(Session) if not name.startswith("__")}
    assert not {name for name in reachable if "seen" in name or "store" in name or "flag" in name}


def test_only_the_poll_and_the_marking_route_can_stamp():
    """Drop and backfill must not even be able to import the stamper (MAIL-13, MAIL-17, MAIL-37)."""
    allowed = {"poll.py", "mark_seen.py", "imap_seen.py"}
    package = Path(tgv_dagster.__file__).parent
    importers = {
        path.name
        for path in package.rglob("*.py")
        if re.search(r"^\s*(from|import) .*imap_seen", path.read_text("utf-8"), re.MULTILINE)
    }
    assert importers <= allowed


UIDS = st.lists(st.integers(1, 2**32 - 1), max_size=200) | st.lists(st.integers(1, 400))


@settings(max_examples=200, deadline=None)
@given(UIDS)
def test_ranges_hold_exactly_the_uids(uids: list[int]):
    held: list[int] = []
    for piece in compress(uids):
        first, _, last = piece.partition(":")
        held += range(int(first), int(last or first) + 1)
    assert held == sorted(set(uids))


@settings(max_examples=200, deadline=None)
@given(UIDS)
def test_pieces_hold_every_uid_once_and_stay_short(uids: list[int]):
    pieces = list(chunked(uids))
    assert [uid for piece in pieces for uid in piece] == sorted(set(uids))
    assert all(len(",".join(compress(piece))) <= 1_000 for piece in pieces)
