"""Reading and stamping against a real Dovecot (MAIL-02, MAIL-08, MAIL-21 to MAIL-24, MAIL-50)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
from dovecot import PASSWORD, USER, Dovecot, running_dovecot, token
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tgv_dagster.arrive.imap import (
    Everything,
    FetchOutcome,
    Session,
    Since,
    Unseen,
    WithMessageId,
)
from tgv_dagster.arrive.imap_connection import (
    FolderRefused,
    ImapSettings,
    LoginRefused,
    MailboxUnreachable,
    TlsMode,
)
from tgv_dagster.arrive.imap_seen import SeenStamper, StampOutcome

RAW = b"Subject: a\r\nMessage-ID: <a@x>\r\nDate: Mon, 1 Jan 2001 10:00:00 +0100\r\n\r\nText\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Dovecot]:
    with running_dovecot() as dovecot:
        yield dovecot


@pytest.fixture
def dovecot(server: Dovecot) -> Dovecot:
    server.empty()
    return server


def plain(server: Dovecot, folder: str = "INBOX") -> ImapSettings:
    return ImapSettings(
        "127.0.0.1", USER, port=server.port, password=PASSWORD, tls=TlsMode.NONE, folder=folder
    )


def fetched(server: Dovecot, uid: int) -> tuple[FetchOutcome, bytes]:
    target = io.BytesIO()
    with Session(plain(server)) as session:
        return session.fetch(uid, target).outcome, target.getvalue()


class TestReading:
    def test_a_look_at_an_empty_mailbox(self, dovecot: Dovecot):
        with Session(plain(dovecot)) as session:
            seen = session.look()
        assert (seen.total, seen.unseen) == (0, ())
        assert seen.uidvalidity

    def test_unseen_all_since_and_by_message_id(self, dovecot: Dovecot):
        old = datetime.now(UTC) - timedelta(days=40)
        dovecot.deliver(RAW, arrived=old)
        dovecot.deliver(RAW.replace(b"<a@x>", b"<aa@x>"), flags=("\\Seen",))
        dovecot.deliver(RAW.replace(b"<a@x>", b"<b@x>"))
        first, second, third = dovecot.uids()
        with Session(plain(dovecot)) as session:
            assert session.search(Unseen()) == (first, third)
            assert session.search(Everything()) == (first, second, third)
            # The Date header says 2001 for all of them; arrival is what counts.
            assert session.search(Since(date.today() - timedelta(days=7))) == (second, third)
            assert session.search(WithMessageId("<a@x>")) == (first,)
            assert session.search(WithMessageId("ä@x")) == ()

    def test_facts_come_without_any_body(self, dovecot: Dovecot):
        arrived = datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)
        dovecot.deliver(RAW, flags=("\\Seen",), arrived=arrived)
        (uid,) = dovecot.uids()
        with Session(plain(dovecot)) as session:
            found = session.facts([uid, uid + 1])
        (fact,) = found.facts
        assert (fact.uid, fact.size, fact.seen) == (uid, len(RAW), True)
        assert fact.internal_date == arrived
        assert found.gone == (uid + 1,)

    @settings(
        max_examples=15,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(st.binary(max_size=200).map(lambda noise: noise.replace(b"\0", b"").replace(b"\r", b"")))
    def test_the_fetched_bytes_are_the_stored_bytes(self, dovecot: Dovecot, noise: bytes):
        raw = b"Subject: a\r\n\r\n" + noise.replace(b"\n", b"\r\n")
        dovecot.deliver(raw)
        assert fetched(dovecot, dovecot.uids()[-1]) == (FetchOutcome.FETCHED, raw)

    @pytest.mark.parametrize("length", [2**20 - 1, 2**20, 2**20 + 1, 5_000_000])
    def test_a_big_mail_comes_whole(self, dovecot: Dovecot, length: int):
        raw = b"Subject: a\r\n\r\n" + b"x" * (length - 14)
        dovecot.deliver(raw)
        assert fetched(dovecot, dovecot.uids()[-1]) == (FetchOutcome.FETCHED, raw)

    def test_a_mail_deleted_meanwhile_is_gone(self, dovecot: Dovecot):
        dovecot.deliver(RAW)
        (uid,) = dovecot.uids()
        with Session(plain(dovecot)) as session:
            assert session.look().unseen == (uid,)
            dovecot.empty()
            assert session.fetch(uid, io.BytesIO()).outcome is FetchOutcome.GONE

    def test_a_session_sees_what_came_after_it_was_opened(self, dovecot: Dovecot):
        with Session(plain(dovecot)) as session:
            assert session.look().unseen == ()
            dovecot.deliver(RAW)
            assert session.look().unseen == tuple(dovecot.uids())

    @pytest.mark.parametrize("typed", ["Entwürfe 2024", "Entw&APw-rfe 2024"])
    def test_a_folder_with_an_umlaut_and_a_space(self, dovecot: Dovecot, typed: str):
        with dovecot.client() as client:
            client.create_folder("Entwürfe 2024")
        dovecot.deliver(RAW, folder="Entwürfe 2024")
        with Session(plain(dovecot, typed)) as session:
            assert session.look().total == 1

    def test_a_folder_that_is_not_there(self, dovecot: Dovecot):
        with pytest.raises(FolderRefused):
            Session(plain(dovecot, "Nirgends")).__enter__()

    def test_reading_sets_no_flag(self, dovecot: Dovecot):
        dovecot.deliver(RAW)
        dovecot.deliver(RAW)
        with Session(plain(dovecot)) as session:
            uids = session.look().unseen
            session.facts(uids)
            session.search(WithMessageId("a@x"))
            for uid in uids:
                assert session.fetch(uid, io.BytesIO()).complete
        assert dovecot.seen() == set()


class TestStamping:
    def test_only_the_named_mails_are_stamped(self, dovecot: Dovecot):
        for _ in range(4):
            dovecot.deliver(RAW)
        first, second, third, _ = dovecot.uids()
        with SeenStamper(plain(dovecot)) as stamper:
            found = stamper.mark_seen(
                [first, 999_999, third, first], uidvalidity=stamper.uidvalidity
            )
        assert [one.outcome for one in found] == [
            StampOutcome.STAMPED,
            StampOutcome.UNKNOWN_UID,
            StampOutcome.STAMPED,
            StampOutcome.STAMPED,
        ]
        assert dovecot.seen() == {first, third}
        assert second not in dovecot.seen()

    def test_a_folder_made_anew_is_not_stamped(self, dovecot: Dovecot):
        with dovecot.client() as client:
            client.create_folder("Eingang")
        dovecot.deliver(RAW, folder="Eingang")
        with Session(plain(dovecot, "Eingang")) as session:
            validity, uids = session.uidvalidity, session.look().unseen
        with dovecot.client() as client:
            client.delete_folder("Eingang")
            client.create_folder("Eingang")
        dovecot.deliver(RAW, folder="Eingang")
        assert dovecot.uids("Eingang") == list(uids)
        with SeenStamper(plain(dovecot, "Eingang")) as stamper:
            found = stamper.mark_seen(uids, uidvalidity=validity)
        assert [one.outcome for one in found] == [StampOutcome.VALIDITY_CHANGED]
        assert dovecot.seen("Eingang") == set()


class TestDoors:
    def test_an_access_token_opens(self, dovecot: Dovecot):
        by_token = ImapSettings(
            "127.0.0.1", USER, port=dovecot.port, access_token=token(), tls=TlsMode.NONE
        )
        with Session(by_token) as session:
            assert session.look().total == 0

    def test_an_expired_token_does_not(self, dovecot: Dovecot):
        expired = token(lifetime=timedelta(hours=-1))
        by_token = ImapSettings(
            "127.0.0.1", USER, port=dovecot.port, access_token=expired, tls=TlsMode.NONE
        )
        with pytest.raises(LoginRefused):
            Session(by_token).__enter__()

    def test_a_wrong_password_does_not(self, dovecot: Dovecot):
        wrong = ImapSettings(
            "127.0.0.1", USER, port=dovecot.port, password="falsch", tls=TlsMode.NONE
        )
        with pytest.raises(LoginRefused):
            Session(wrong).__enter__()

    @pytest.mark.parametrize("tls", [TlsMode.IMPLICIT, TlsMode.STARTTLS])
    def test_tls_with_the_right_authority(self, dovecot: Dovecot, tls: TlsMode):
        port = dovecot.tls_port if tls is TlsMode.IMPLICIT else dovecot.port
        secured = ImapSettings(
            "localhost", USER, port=port, password=PASSWORD, tls=tls, ca_file=dovecot.certificate
        )
        with Session(secured) as session:
            assert session.look().total == 0

    @pytest.mark.parametrize("tls", [TlsMode.IMPLICIT, TlsMode.STARTTLS])
    def test_an_unknown_certificate_is_refused_unless_told_otherwise(
        self, dovecot: Dovecot, tls: TlsMode
    ):
        port = dovecot.tls_port if tls is TlsMode.IMPLICIT else dovecot.port
        secured = ImapSettings("localhost", USER, port=port, password=PASSWORD, tls=tls)
        with pytest.raises(MailboxUnreachable, match="certificate"):
            Session(secured).__enter__()
        trusting = ImapSettings(
            "localhost", USER, port=port, password=PASSWORD, tls=tls, verify=False
        )
        with Session(trusting) as session:
            assert session.look().total == 0

    def test_the_host_name_must_be_the_one_of_the_certificate(self, dovecot: Dovecot):
        named = ImapSettings(
            "127.0.0.1", USER, port=dovecot.tls_port, password=PASSWORD,
            ca_file=dovecot.certificate,
        )  # fmt: skip
        with pytest.raises(MailboxUnreachable):
            Session(named).__enter__()
