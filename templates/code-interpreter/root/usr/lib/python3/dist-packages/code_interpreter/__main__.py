import asyncio

from .server import serve

asyncio.run(serve())
