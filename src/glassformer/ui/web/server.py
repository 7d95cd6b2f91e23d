"""The page, served to whoever has its token, on the loopback: every request bounded, nothing fetched from elsewhere."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Final

from glassformer.automata.zoo import SPECIMENS
from glassformer.errors import InputError
from glassformer.messages import LANGUAGES, Message
from glassformer.ui.web import studies
from glassformer.ui.web.bundle import VIEWS, noscript
from glassformer.ui.web.wire import refusal
from glassformer.ui.web.workers import Workers

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
    from starlette.routing import Route

    from glassformer.ui.web.connections import BoundedProtocol, make_room
except ImportError:
    raise InputError("page.needs_web") from None

LARGEST_BODY: Final = 1_100_000
LARGEST_FIGURE: Final = 20_000_000
HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")
TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
MOST_FIGURES: Final = 200
SECONDS: Final = {"look": 20.0, "train": 90.0, "heads": 40.0, "approximate": 40.0}
"""The most that each kind of request may take."""
LONGEST_NAME: Final = 64
"""Of a page that asks: by these names everybody gets a turn."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
PAGE: Final = Template(Path(__file__).with_name("live.html").read_text("utf-8")).substitute(noscript=noscript())


def application(folder: Path, workers: Workers, token: str = "") -> Starlette:
    """The routes; of the folder, the .svg files and the numbers of studies are sent, and nothing else.

    Without a token, whoever reaches the port is answered. What reads the disk is no coroutine: Starlette gives it a
    thread.
    """

    async def page(_: Request) -> Response:
        return HTMLResponse(PAGE)

    def view(request: Request) -> Response:
        return _file(VIEWS, request.path_params["name"], TYPES)

    def known(_: Request) -> Response:
        figures = studies.places(folder, "*.svg", MOST_FIGURES)
        return JSONResponse({"zoo": list(SPECIMENS), "figures": figures, "studies": studies.kept(folder)})

    def study(request: Request) -> Response:
        place = request.path_params["place"]
        try:
            return JSONResponse(studies.read(folder, place))
        except InputError as error:
            return _refusal(404, error.message)
        except OSError as error:
            return _refusal(404, Message("page.cannot_read", place=place, why=error.strerror))

    def figure(request: Request) -> Response:
        return _file(folder, request.path_params["name"], [".svg"])

    def job(name: str) -> Callable[[Request], Awaitable[Response]]:
        async def do(request: Request) -> Response:
            if request.headers.get("content-type", "").split(";")[0] != "application/json":
                return _refusal(415, Message("page.not_application_json"))
            try:
                body = await _body(request)
            except ClientDisconnect:
                return Response(status_code=400)
            if body is None:
                return _refusal(413, Message("page.too_many_bytes", limit=LARGEST_BODY))
            client = request.headers.get("x-page", "")[:LONGEST_NAME]
            answer = await _while_there(request, workers.do(name, body, client, SECONDS[name]))
            status, text = answer or (499, b"")
            return Response(text, status, media_type="application/json")

        return do

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with workers.running():
            yield

    routes = [
        Route("/", page),
        Route("/views/{name}", view),
        Route("/api/known", known),
        Route("/figures/{name:path}", figure),
        Route("/studies/{place:path}", study),
        *(Route(f"/api/{name}", job(name), methods=["POST"]) for name in SECONDS),
    ]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS))
    return Starlette(routes=routes, middleware=[hosts, Middleware(Guarded, token)], lifespan=lifespan)


class Guarded:
    """Every answer carries the policy; requests from other pages, and those without the token, are refused.

    The token comes once in the link, and then in a cookie; or with every request in its Authorization header.
    """

    def __init__(self, app: Any, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                given = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *given]
            await send(message)

        await self._answer(Request(scope))(scope, receive, answer)

    def _answer(self, request: Request) -> Any:
        site = request.headers.get("sec-fetch-site", "none")
        is_page = request.url.path == "/"
        link = is_page and request.headers.get("sec-fetch-dest") == "document"  # links to the page may be anywhere
        if site not in ("same-origin", "none") and not link:
            return _refusal(403, Message("page.other_page"))
        cookie = f"glassformer-{(request.scope.get('server') or ('', ''))[1]}"  # other ports have the same cookies
        if is_page and self._is_token(request.query_params.get("token")):
            answer = RedirectResponse("/", 303)  # a browser keeps what stands behind the #
            answer.set_cookie(cookie, self.token, httponly=True, samesite="strict")
            return answer
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not self.token or self._is_token(request.cookies.get(cookie)) or self._is_token(bearer):
            return self.app
        said = Message("page.no_token")
        if "text/html" not in request.headers.get("accept", ""):
            return _refusal(403, said)
        words = "".join(f'<p lang="{each}">{escape(said.in_language(each))}</p>' for each in LANGUAGES)
        return HTMLResponse(f"<!doctype html><title>Glassformer</title>{words}", 403)

    def _is_token(self, given: str | None) -> bool:
        return bool(self.token and given) and secrets.compare_digest(str(given).encode(), self.token.encode())


async def _while_there(request: Request, answer: Awaitable[Any]) -> Any:
    """The answer, or None as soon as nobody waits for it any more."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    tasks = [asyncio.ensure_future(answer), asyncio.ensure_future(gone())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].result() if tasks[0].done() else None
    finally:
        for task in tasks:
            task.cancel()


async def _body(request: Request) -> bytes | None:
    """What was sent, if it is not too much; no more than the limit is ever held."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > LARGEST_BODY:
            return None
        parts.append(part)
    return b"".join(parts)


def _refusal(status: int, message: Message) -> Response:
    return Response(refusal(message), status, media_type="application/json")


def _file(root: Path, name: str, suffixes: Collection[str]) -> Response:
    path = studies.within(root, name)
    if path is None or path.suffix not in suffixes:
        return _refusal(404, Message("page.no_file"))
    if path.stat().st_size > LARGEST_FIGURE:
        return _refusal(413, Message("page.figure_too_large", limit=LARGEST_FIGURE))
    return FileResponse(path, media_type=TYPES[path.suffix])


def link(port: int, token: str) -> str:
    """What to open in a browser."""
    return f"http://127.0.0.1:{port}/" + (f"?token={token}" if token else "")


def serve(folder: Path, port: int, token: str = "") -> None:
    """Until interrupted; then those who wait for an answer have a moment left."""
    make_room()
    app = application(folder, Workers(), token)
    bounds: dict[str, Any] = {"http": BoundedProtocol, "ws": "none", "timeout_graceful_shutdown": 2}
    uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical", **bounds)).run()
