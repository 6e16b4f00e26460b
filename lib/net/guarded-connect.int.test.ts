/** Real sockets on loopback. 127.0.0.1 plays the inner network; 127.0.0.2 plays the public host and is the only one listed. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { request } from "undici";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { GuardedConnectOptions, Resolver } from "./guarded-connect";
import { guardedAgent, OutboundRefused } from "./guarded-connect";
import type { GuardedRequest } from "./guarded-request";
import { guardedRequest, OutboundFailure } from "./guarded-request";
import type { OutboundPolicy } from "./outbound-policy";
import { outboundPolicy } from "./outbound-policy";

const PUBLIC = "127.0.0.2";

function listen(server: Server, host: string, port = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** A server whose every connection is a failure of the guard. */
let canary: Server;
let canaryPort: number;
let hits = 0;
/** The one host that may be reached. Same port as the canary, so that only the address differs. */
let host: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let seen: IncomingMessage[] = [];

beforeAll(async () => {
  canary = createServer((_request, response) => response.end("canary"));
  canary.on("connection", () => (hits += 1));
  canaryPort = await listen(canary, "127.0.0.1");
  host = createServer((incoming, response) => {
    seen.push(incoming);
    answer(incoming, response);
  });
  await listen(host, PUBLIC, canaryPort);
});

const policy = outboundPolicy({ allow: [PUBLIC] });
const agents: { destroy(): Promise<void> }[] = [];
const agentWith = (options: Partial<GuardedConnectOptions> = {}) => {
  const agent = guardedAgent({ policy, timeoutMs: 1000, ...options });
  agents.push(agent);
  return agent;
};

beforeEach(() => {
  hits = 0;
  seen = [];
  answer = (_request, response) => response.end("served");
});
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.destroy()));
});
afterAll(() => {
  for (const server of [canary, host]) {
    server.closeAllConnections();
    server.close();
  }
});

const url = (name: string, path = "/") => `http://${name}:${canaryPort}${path}`;
const resolvesTo =
  (...addresses: string[]): Resolver =>
  () =>
    Promise.resolve(addresses);
const ask = async (target: string, options: Partial<GuardedConnectOptions> = {}) => {
  const got = await request(target, { dispatcher: agentWith(options) });
  return got.body.text();
};

describe("a guarded connection", () => {
  it("reaches the listed address, by address and by name", async () => {
    expect(await ask(url(PUBLIC))).toBe("served");
    expect(await ask(url("vendor.test"), { resolve: resolvesTo(PUBLIC) })).toBe("served");
    expect(seen[1]?.headers.host).toBe(`vendor.test:${canaryPort}`);
  });

  it.each(["0.0.0.0", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "[::ffff:127.0.0.1]"])(
    "an unguarded client would reach the canary as %s; a guarded one does not",
    async (name) => {
      expect(await (await request(url(name))).body.text()).toBe("canary");
      hits = 0;
      await expect(ask(url(name))).rejects.toBeInstanceOf(OutboundRefused);
      expect(hits).toBe(0);
    },
  );

  it.each([
    ["127.0.0.1", "loopback"],
    ["0.0.0.0", "unspecified"],
    ["::1", "loopback"],
    ["::", "unspecified"],
    ["169.254.169.254", "metadata"],
    ["169.254.0.1", "linkLocal"],
    ["100.64.0.1", "sharedNat"],
    ["10.0.0.1", "private"],
    ["fd00::1", "private"],
    ["64:ff9b::a9fe:a9fe", "embeddedIpv4"],
    ["64:ff9b:1::7f00:1", "embeddedIpv4"],
    ["2002:a9fe:a9fe::", "embeddedIpv4"],
    ["::ffff:127.0.0.1", "embeddedIpv4"],
    ["2001:0:7f00:1::", "embeddedIpv4"],
    ["224.0.0.1", "multicast"],
    ["fe80::1%eth0", "notAnAddress"],
    ["127.1", "notAnAddress"],
  ])("a name that resolves to %s is refused before a socket is opened", async (address, reason) => {
    await expect(ask(url("inner.test"), { resolve: resolvesTo(address) })).rejects.toMatchObject({ reason });
    expect(hits).toBe(0);
  });

  it("one bad address among good ones refuses the host", async () => {
    const call = ask(url("mixed.test"), { resolve: resolvesTo(PUBLIC, "127.0.0.1") });
    await expect(call).rejects.toBeInstanceOf(OutboundRefused);
    expect({ hits, served: seen.length }).toEqual({ hits: 0, served: 0 });
  });

  it("a name server that answers differently the second time is not asked a second time", async () => {
    const answers = [PUBLIC, "127.0.0.1"];
    let asked = 0;
    const resolve: Resolver = () => Promise.resolve([answers[asked++] ?? "127.0.0.1"]);
    const agent = agentWith({ resolve });
    const first = await request(url("rebind.test"), { dispatcher: agent, headers: { connection: "close" } });
    expect(await first.body.text()).toBe("served");
    expect(asked).toBe(1);
    // The next connection asks again, and what it is told is judged again.
    await expect(request(url("rebind.test"), { dispatcher: agent })).rejects.toBeInstanceOf(OutboundRefused);
    expect({ asked, hits }).toEqual({ asked: 2, hits: 0 });
  });

  it("goes on to the next judged address where nobody listens", async () => {
    const two = outboundPolicy({ allow: [PUBLIC, "127.0.0.3"] });
    expect(await ask(url("two.test"), { policy: two, resolve: resolvesTo("127.0.0.3", PUBLIC) })).toBe("served");
  });

  it("a refused connection and an unknown name fail with the code a client looks for", async () => {
    const listed = outboundPolicy({ allow: ["127.0.0.3"] });
    await expect(ask(url("127.0.0.3"), { policy: listed })).rejects.toMatchObject({ code: "ECONNREFUSED" });
    const resolve: Resolver = () => Promise.reject(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }));
    await expect(ask(url("nobody.test"), { resolve })).rejects.toMatchObject({ code: "ENOTFOUND" });
    await expect(ask(url("nobody.test"), { resolve: resolvesTo() })).rejects.toBeInstanceOf(OutboundRefused);
  });

  it("a name server that never answers does not hold the call", async () => {
    const resolve: Resolver = () => new Promise(() => undefined);
    await expect(ask(url("slow.test"), { resolve, timeoutMs: 30 })).rejects.toMatchObject({ code: "EAI_AGAIN" });
  });

  it("TLS asks for the name, not for the address it was pinned to", async () => {
    const names: string[] = [];
    const server = createTlsServer({
      SNICallback: (name, done) => {
        names.push(name);
        done(new Error("no certificate here"));
      },
    });
    server.on("tlsClientError", () => undefined);
    const port = await listen(server as unknown as Server, PUBLIC);
    await expect(ask(`https://vendor.test:${port}/`, { resolve: resolvesTo(PUBLIC) })).rejects.toThrow();
    expect(names).toEqual(["vendor.test"]);
    server.close();
  });
});

describe("a guarded request", () => {
  const get = (call: Partial<GuardedRequest>, rules: OutboundPolicy = policy, resolve?: Resolver) =>
    guardedRequest(
      { url: url(PUBLIC), timeoutMs: 2000, maxBytes: 1000, ...call },
      { policy: rules, agent: agentWith({ policy: rules, ...(resolve ? { resolve } : {}) }) },
    );
  const redirectTo = (location: string, status = 302) => {
    answer = (incoming, response) => {
      if (incoming.url === "/end") response.end("end");
      else response.writeHead(status, { location }).end();
    };
  };

  it("brings status, headers and text", async () => {
    answer = (incoming, response) => response.writeHead(201, { "x-method": incoming.method ?? "" }).end("made");
    const got = await get({ method: "POST", body: "a=1", headers: { "content-type": "text/plain" } });
    expect({ status: got.status, method: got.headers["x-method"], text: got.text }).toEqual({
      status: 201,
      method: "POST",
      text: "made",
    });
  });

  it("follows no redirect unless asked to, and none of a POST", async () => {
    redirectTo(url("127.0.0.1"));
    expect((await get({})).status).toBe(302);
    expect((await get({ method: "POST", maxRedirects: 3 })).status).toBe(302);
    expect(hits).toBe(0);
  });

  it.each(["127.0.0.1", "localhost", "2130706433", "0.0.0.0", "[::ffff:127.0.0.1]"])(
    "a redirect to %s is judged like the first URL",
    async (name) => {
      redirectTo(url(name));
      await expect(get({ maxRedirects: 3 })).rejects.toBeInstanceOf(OutboundRefused);
      expect(hits).toBe(0);
    },
  );

  it("a redirect to a name that resolves inwards is refused at the connection", async () => {
    redirectTo(url("inner.test"));
    const resolve: Resolver = (name) => Promise.resolve([name === "inner.test" ? "127.0.0.1" : PUBLIC]);
    await expect(get({ maxRedirects: 3 }, policy, resolve)).rejects.toBeInstanceOf(OutboundRefused);
    expect(hits).toBe(0);
  });

  it("a redirect within reach is followed, without the credentials where the origin changes", async () => {
    redirectTo("/end");
    expect((await get({ maxRedirects: 1, headers: { authorization: "Bearer s" } })).text).toBe("end");
    expect(seen.at(-1)?.headers.authorization).toBe("Bearer s");
    const named = outboundPolicy({ allow: [PUBLIC, "other.test"] });
    redirectTo(url("other.test", "/end"));
    const got = await get(
      { maxRedirects: 1, headers: { authorization: "Bearer s", cookie: "a=1" } },
      named,
      resolvesTo(PUBLIC),
    );
    expect(got.text).toBe("end");
    expect(seen.at(-1)?.headers).not.toHaveProperty("authorization");
    expect(seen.at(-1)?.headers).not.toHaveProperty("cookie");
  });

  it("a ring of redirects, an endless body and a silent server end at their limit", async () => {
    redirectTo("/again");
    await expect(get({ maxRedirects: 4 })).rejects.toMatchObject({ reason: "redirects" });
    expect(seen).toHaveLength(5);
    answer = (_request, response) => response.end("x".repeat(1001));
    await expect(get({})).rejects.toMatchObject({ reason: "tooLarge" });
    answer = () => undefined;
    await expect(get({ timeoutMs: 50 })).rejects.toMatchObject({ reason: "timeout" });
    answer = (_request, response) => response.destroy();
    await expect(get({})).rejects.toBeInstanceOf(OutboundFailure);
  });

  it("a URL that may not be called is refused without resolving it", async () => {
    let asked = 0;
    const resolve: Resolver = () => {
      asked += 1;
      return Promise.resolve([PUBLIC]);
    };
    await expect(get({ url: "http://vendor.test/" }, outboundPolicy(), resolve)).rejects.toMatchObject({
      reason: "scheme",
    });
    expect(asked).toBe(0);
  });
});
