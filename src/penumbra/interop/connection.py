"""Questions to a server of reconchess: it is waited for while it cannot be reached, and no turn is played twice."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

import requests
from reconchess import RemoteGame
from reconchess.utilities import ChessJSONDecoder, ChessJSONEncoder

log = logging.getLogger(__name__)

POLL = 1.0  # seconds between two attempts
PATIENCE = 30.0  # seconds for an answer of the server


class ServerError(ValueError):
    """The server refuses what was asked."""


class Unheard(Exception):
    """No answer came: what was asked for may have been done."""


class Connection:
    """A server as one account sees it."""

    def __init__(self, url: str, username: str, password: str) -> None:
        self.url = url
        self._session = requests.Session()
        self._session.auth = (username, password)
        self._reached = True
        self.waits = True  # while the server cannot be reached, rather than that it is an error

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        data: str | None = None,
        once: bool = False,
        decoder: Any = None,
    ) -> Any:
        """The answer. What is asked `once` is not repeated when none comes: then it raises `Unheard`."""
        while True:
            try:
                answer = self._session.request(
                    method,
                    f"{self.url}/api/{path}",
                    json=body,
                    data=data,
                    timeout=PATIENCE,
                )
                if answer.status_code < 500:
                    self._heard()
                    return self._value(answer, path, decoder)
                trouble = f"status {answer.status_code}"
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                trouble = type(error).__name__
            except requests.RequestException as error:
                raise ServerError(f"{self.url}: {error}") from None
            if not (self.waits or once):
                raise ServerError(f"{self.url} cannot be reached ({trouble})")
            if self._reached:
                log.warning("%s cannot be reached (%s); waiting", self.url, trouble)
            self._reached = False
            time.sleep(POLL)
            if once:
                raise Unheard(f"{self.url}: {path}: {trouble}")

    def _heard(self) -> None:
        if not self._reached:
            log.info("%s answers again", self.url)
        self._reached = True

    def _value(self, answer: requests.Response, path: str, decoder: Any) -> Any:
        if answer.status_code == 401:
            raise ServerError(f"{self.url} does not accept this name and password")
        if answer.status_code != 200:
            page = answer.text.lstrip().startswith("<")
            said = "" if page else f": {' '.join(answer.text.split())[:200]}"
            raise ServerError(f"{self.url}: {path}: status {answer.status_code}{said}")
        try:
            return answer.json(cls=decoder)
        except requests.exceptions.JSONDecodeError:
            raise ServerError(f"{self.url}: {path}: this is not how a server of reconchess answers") from None


class PatientGame(RemoteGame):
    """reconchess' game on a server. Senses, moves and ends of turns are asked for once."""

    def __init__(self, connection: Connection, number: int) -> None:
        self._connection = connection
        self._number = number

    def _get(self, endpoint: str, decoder_cls: Any = ChessJSONDecoder) -> Any:
        return self._connection.ask("GET", f"games/{self._number}/{endpoint}", decoder=decoder_cls)

    def _post(self, endpoint: str, obj: Any) -> Any:
        path = f"games/{self._number}/{endpoint}"
        data = json.dumps(obj, cls=ChessJSONEncoder)
        return self._connection.ask("POST", path, data=data, once=endpoint != "ready", decoder=ChessJSONDecoder)
