"""The page, served to this machine alone: on the loopback, every request bounded, nothing fetched from elsewhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from string import Template
from typing import Any, Final

from glassformer.automata.zoo import SPECIMENS
from glassformer.errors import InputError
from glassformer.messages import Message
from glassformer.ui.web import studies
from glassformer.ui.web.bundle import VIEWS, noscript
from glassformer.ui.web.workers import Workers, refusal

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route
except ImportError:
    raise InputError("page.needs_web") from None

LARGEST_BODY: Final = 1_100_000
HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")
TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
MOST_FIGURES: Final = 200
SECONDS: Final = {"look": 20.0, "train": 90.0, "heads": 40.0, "approximate": 40.0}
"""The most that each kind of request may take."""
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


def application(folder: Path, workers: Workers) -> Starlette:
    """The routes; of the folder, the .svg files and the numbers of studies are sent, and nothing else."""

    async def page(_: Request) -> Response:
        return HTMLResponse(PAGE)

    async def view(request: Request) -> Response:
        return _file(VIEWS, VIEWS / request.path_params["name"])

    async def known(_: Request) -> Response:
        return JSONResponse({"zoo": list(SPECIMENS), "figures": _figures(folder), "studies": studies.kept(folder)})

    async def study(request: Request) -> Response:
        place = request.path_params["place"]
        try:
            return JSONResponse(await asyncio.to_thread(studies.read, folder, place))
        except InputError as error:
            return _refusal(404, error.message)
        except OSError as error:
            return _refusal(404, Message("page.cannot_read", place=place, why=error.strerror))

    async def figure(request: Request) -> Response:
        name = request.path_params["name"]
        return _file(folder, folder / name) if name in _figures(folder) else _refusal(404, Message("page.no_figure"))

    def job(name: str) -> Callable[[Request], Awaitable[Response]]:
        async def do(request: Request) -> Response:
            if request.headers.get("content-type", "").split(";")[0] != "application/json":
                return _refusal(415, Message("page.not_application_json"))
            body = await _body(request)
            if body is None:
                return _refusal(413, Message("page.too_many_bytes", limit=LARGEST_BODY))
            status, text = await workers.do(name, body, _machine_in(body), SECONDS[name])
            return Response(text, status, media_type="application/json")

        return do

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        workers.stop()

    routes = [
        Route("/", page),
        Route("/views/{name}", view),
        Route("/api/known", known),
        Route("/figures/{name:path}", figure),
        Route("/studies/{place:path}", study),
        *(Route(f"/api/{name}", job(name), methods=["POST"]) for name in SECONDS),
    ]
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS)), Middleware(Guarded)]
    return Starlette(routes=routes, middleware=middleware, lifespan=lifespan)


class Guarded:
    """Every answer carries the policy, and requests from other pages are refused; links to the page are not."""

    def __init__(self, app: Any) -> None:
        self.app = app

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

        headers = dict(scope["headers"])
        site = headers.get(b"sec-fetch-site", b"none")
        link = scope["path"] == "/" and headers.get(b"sec-fetch-dest") == b"document"  # the page itself is no secret
        if site not in (b"same-origin", b"none") and not link:
            await _refusal(403, Message("page.other_page"))(scope, receive, answer)
        else:
            await self.app(scope, receive, answer)


async def _body(request: Request) -> str | None:
    """What was sent, if it is not too much; no more than the limit is ever held."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > LARGEST_BODY:
            return None
        parts.append(part)
    return b"".join(parts).decode("utf-8", "replace")


def _machine_in(body: str) -> str:
    """What names the machine in a request, if anything does: requests for one machine go to one worker."""
    try:
        values = json.loads(body)
        return json.dumps([values.get("spec"), values.get("file")])
    except (ValueError, AttributeError, RecursionError):
        return ""


def _refusal(status: int, message: Message) -> Response:
    return Response(refusal(message), status, media_type="application/json")


def _figures(folder: Path) -> list[str]:
    """The drawings below a folder, by name; links that lead out of it are passed over."""
    root = folder.resolve()
    found = (path for depth in ("*.svg", "*/*.svg") for path in sorted(root.glob(depth)))
    inside = (path for path in found if path.resolve().is_relative_to(root))
    return [path.relative_to(root).as_posix() for path in inside][:MOST_FIGURES]


def _file(root: Path, path: Path) -> Response:
    real = path.resolve()
    if not real.is_relative_to(root.resolve()) or not real.is_file() or real.suffix not in TYPES:
        return _refusal(404, Message("page.no_file"))
    return Response(real.read_bytes(), media_type=TYPES[real.suffix])


def serve(folder: Path, port: int) -> None:
    """Until interrupted."""
    app = application(folder, Workers())
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical", limit_concurrency=200)
    uvicorn.Server(config).run()
