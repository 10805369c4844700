"""Slowing down guessing: how many failed sign-ins one login, and all together, may have.

Kept in the memory of the one service process; a restart forgets it, and argon2 makes each guess
slow all the same. Does not belong here: what counts as failed.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from threading import Lock

PER_LOGIN = 10
TOGETHER = 200
WINDOW_SECONDS = 15 * 60.0
_MOST_LOGINS = 10_000


class Throttle:
    """Counts failures of the last `WINDOW_SECONDS`; safe for several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = os.urandom(32)
        self._failed: OrderedDict[bytes, deque[float]] = OrderedDict()
        self._all: deque[float] = deque(maxlen=TOGETHER)
        self._lock = Lock()

    def seconds_to_wait(self, login: str) -> int:
        """Seconds until this login may be tried again; 0 is now."""
        with self._lock:
            mine = self._failed.get(self._name(login), deque())
            waits = (
                _wait(mine, PER_LOGIN, self._clock()),
                _wait(self._all, TOGETHER, self._clock()),
            )
        return max(waits)

    def failed(self, login: str) -> None:
        """One more failure of this login, whether anybody has it or not."""
        with self._lock:
            name = self._name(login)
            times = self._failed.setdefault(name, deque(maxlen=PER_LOGIN))
            times.append(self._clock())
            self._all.append(times[-1])
            self._failed.move_to_end(name)
            if len(self._failed) > _MOST_LOGINS:
                self._failed.popitem(last=False)

    def succeeded(self, login: str) -> None:
        """The login's failures are forgotten."""
        with self._lock:
            self._failed.pop(self._name(login), None)

    def _name(self, login: str) -> bytes:
        """A keyed hash: what is typed into the field of the login may be a password."""
        return hashlib.blake2b(login.encode("utf-8", "replace"), key=self._key).digest()


def _wait(times: deque[float], most: int, now: float) -> int:
    if len(times) < most:
        return 0
    left = times[0] + WINDOW_SECONDS - now
    return max(0, int(left) + 1) if left > 0 else 0
