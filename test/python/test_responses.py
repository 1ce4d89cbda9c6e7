"""The Responses protocol by the Python SDK of OpenAI: the sandbox, and models of every protocol."""

import asyncio
import json

import common
import openai
from common import Cases, entered, listed, settled

TOOLS = [
    {"type": "function", "name": "weather", "parameters": common.WEATHER, "strict": False},
    {"type": "function", "name": "clock", "parameters": common.CLOCK, "strict": False},
]


def user(content):
    return {"role": "user", "content": content}


def calls_in(response):
    return [item for item in response.output if item.type == "function_call"]


def result(call, output):
    return {"type": "function_call_output", "call_id": call.call_id, "output": output}


class ResponsesCases:
    client_class = openai.OpenAI

    def connect(self, gateway=common.GATEWAY):
        return self.closing(self.client_class(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0))

    async def ask(self, client, **params):
        return await settled(client.responses.create(**{"model": "sandbox/echo", **params}))

    async def helped(self, client, **params):
        """The same by the stream helper, which puts the response together."""
        async with entered(client.responses.stream(**{"model": "sandbox/echo", **params})) as stream:
            await listed(stream)
            return await settled(stream.get_final_response())

    async def test_text_and_usage_whole_and_streamed(self):
        client = self.connect()
        for ask in (self.ask, self.helped):
            response = await ask(client, input=common.ODD)
            self.assertEqual([response.output_text, response.status], [common.ODD, "completed"])
            self.assertEqual(response.model, "sandbox/echo")
            usage = (await ask(client, input=common.GREETING)).usage
            self.assertEqual([usage.input_tokens, usage.output_tokens, usage.total_tokens], [4, 4, 8])

    async def test_a_stream_has_its_events_in_order(self):
        events = await listed(await self.ask(self.connect(), input=common.ODD, stream=True))
        types = [event.type for event in events]
        self.assertEqual(types[:2], ["response.created", "response.in_progress"])
        self.assertEqual(types[-1], "response.completed")
        self.assertEqual([event.sequence_number for event in events], list(range(len(events))))
        deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
        self.assertEqual("".join(deltas), common.ODD)

    async def test_the_helper_parses_a_json_schema(self):
        client = self.connect()
        params = {"input": "Ada", "text_format": common.Person}
        whole = await settled(client.responses.parse(model="sandbox/echo", **params))
        for response in (whole, await self.helped(client, **params)):
            self.assertEqual(response.output_parsed.name, "Ada")

    async def test_parallel_calls_whole_and_streamed(self):
        client = self.connect()
        for ask in (self.ask, self.helped):
            response = await ask(client, model="sandbox/tools", input="All in parallel", tools=TOOLS)
            calls = [(call.name, json.loads(call.arguments)) for call in calls_in(response)]
            self.assertEqual(calls[0], ("weather", common.WEATHER_ARGS))
            self.assertEqual([name for name, _ in calls], ["weather", "clock"])

    async def test_a_loop_of_three_turns_with_a_model_of_every_protocol(self):
        for protocol in common.PROTOCOLS:
            for ask in (self.ask, self.helped):
                for stored in (False, True):
                    with self.subTest(protocol=protocol, ask=ask.__name__, stored=stored):
                        await self.loop(protocol, ask, stored)

    async def loop(self, protocol, ask, stored):
        """With the whole history in every request, or with the id of the response before."""
        client = self.connect(common.PROVIDED)
        include = ["reasoning.encrypted_content"]
        params = {"model": f"{protocol}/m", "tools": TOOLS, "reasoning": {"effort": "low", "summary": "auto"}}
        history = [user("Weather?")]

        async def turn(items, previous):
            history.extend(items)
            if stored:
                more = {"input": items or history, "previous_response_id": previous.id if previous else openai.omit}
            else:
                more = {"input": history, "store": False}
            response = await ask(client, **params, include=include, **more)
            history.extend(item.model_dump(exclude_none=True) for item in response.output)
            return response

        first = await turn([], None)
        [call] = calls_in(first)
        self.assertEqual((call.name, json.loads(call.arguments)), ("weather", common.LOOP.weather))
        second = await turn([result(call, "sunny")], first)
        self.assertEqual([call.name for call in calls_in(second)], ["weather", "clock"])
        for response in (first, second):
            summaries = [item.summary for item in response.output if item.type == "reasoning"]
            self.assertEqual([part.text for summary in summaries for part in summary], [common.LOOP.thought])
        last = await turn([result(call, "sunny") for call in calls_in(second)], second)
        self.assertEqual([last.output_text, last.status], [common.LOOP.text, "completed"])
        asked = common.last_asked(protocol)
        self.assertEqual(asked.count(common.LOOP.signature), 0 if protocol == "chat" else 2, asked)

    async def test_a_response_is_found_and_deleted(self):
        client = self.connect()
        first = await self.ask(client, input="One", metadata={"a": "b"})
        found = await settled(client.responses.retrieve(first.id))
        self.assertEqual([found.output_text, found.metadata], ["One", {"a": "b"}])
        second = await self.ask(client, input="Two", previous_response_id=first.id)
        items = await listed(client.responses.input_items.list(second.id, order="asc"))
        self.assertEqual(len(items), 3)
        await settled(client.responses.delete(first.id))
        await self.rejection(openai.NotFoundError, lambda: client.responses.retrieve(first.id))
        error = await self.rejection(
            openai.BadRequestError, lambda: self.ask(client, input="Three", previous_response_id=first.id)
        )
        self.assertEqual([error.code, error.param], ["previous_response_not_found", "previous_response_id"])

    async def ended(self, client, response):
        """The response once it has ended, asked for as often as needed."""
        async with asyncio.timeout(30):
            while response.status in ("queued", "in_progress"):
                await asyncio.sleep(0.02)
                response = await settled(client.responses.retrieve(response.id))
        return response

    async def test_a_response_in_the_background(self):
        client = self.connect()
        queued = await self.ask(client, input=common.ODD, background=True)
        self.assertEqual([queued.status, queued.background, queued.output], ["queued", True, []])
        response = await self.ended(client, queued)
        self.assertEqual([response.output_text, response.status], [common.ODD, "completed"])
        again = await self.ask(client, input="Two", previous_response_id=response.id)
        self.assertEqual(again.output_text, "Two")
        await self.rejection(openai.BadRequestError, lambda: client.responses.cancel(response.id))

    async def test_a_response_in_the_background_is_cancelled(self):
        client = self.connect()
        response = await self.ask(client, model="sandbox/faulty", input="hang after 3", background=True)
        for _ in range(2):
            cancelled = await settled(client.responses.cancel(response.id))
            self.assertEqual((await self.ended(client, cancelled)).status, "cancelled")

    async def test_responses_in_the_background_with_a_model_of_every_protocol(self):
        client = self.connect(common.PROVIDED)
        for protocol in common.PROTOCOLS:
            with self.subTest(protocol=protocol):
                params = {"model": f"{protocol}/m", "input": "Weather?", "tools": TOOLS}
                response = await self.ended(client, await self.ask(client, **params, background=True))
                self.assertEqual([call.name for call in calls_in(response)], ["weather"])

    async def test_errors_have_their_classes(self):
        client = self.connect()
        stranger = client.with_options(api_key="sk-wrong")
        await self.rejection(openai.AuthenticationError, lambda: self.ask(stranger, input="hi"))
        await self.rejection(openai.NotFoundError, lambda: self.ask(client, model="sandbox/none", input="hi"))
        error = await self.rejection(openai.BadRequestError, lambda: self.ask(client, input="hi", temperature=3))
        self.assertEqual(error.param, "temperature")
        for stream in (False, True):
            faulty = {"model": "sandbox/faulty", "stream": stream}
            await self.rejection(openai.RateLimitError, lambda: self.ask(client, **faulty, input="status 429"))
            await self.rejection(openai.InternalServerError, lambda: self.ask(client, **faulty, input="status 500"))

    async def test_a_stream_that_breaks_ends_as_failed(self):
        for words in ("cut after 3", "error in stream after 2"):
            params = {"model": "sandbox/faulty", "input": words}
            events = await listed(await self.ask(self.connect(), **params, stream=True))
            self.assertEqual(events[-1].type, "response.failed")
            self.assertEqual(events[-1].response.error.code, "server_error")
            with self.assertRaises(RuntimeError):
                await self.helped(self.connect(), **params)


class Waiting(ResponsesCases, Cases):
    """openai.OpenAI"""


class Awaiting(ResponsesCases, Cases):
    """openai.AsyncOpenAI"""

    client_class = openai.AsyncOpenAI
