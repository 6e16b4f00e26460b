import { describe, expect, it } from "vitest";
import { EnvError, parseGatewayEnv, parseWebEnv, parseWorkerEnv } from "./env";

const secret = Buffer.alloc(32, 7).toString("base64");

const complete = {
  DATABASE_URL: "postgresql://spillway:pw@127.0.0.1:5432/spillway",
  REDIS_URL: "redis://127.0.0.1:6379/0",
  SPILLWAY_MASTER_KEY: secret,
  SPILLWAY_KEY_PEPPER: secret,
  NEXTAUTH_SECRET: "x".repeat(32),
  NEXTAUTH_URL: "http://127.0.0.1:3000",
};

describe("the environment", () => {
  it("listens on loopback unless told otherwise", () => {
    expect(parseWebEnv(complete)).toMatchObject({ SPILLWAY_HOST: "127.0.0.1", SPILLWAY_PORT: 3000 });
    expect(parseWebEnv({ ...complete, SPILLWAY_HOST: "0.0.0.0" }).SPILLWAY_HOST).toBe("0.0.0.0");
    expect(parseWorkerEnv(complete).WORKER_HOST).toBe("127.0.0.1");
  });

  it("names every mistake at once", () => {
    const broken = { ...complete, REDIS_URL: "http://example.com", SPILLWAY_PORT: "70000", DATABASE_URL: undefined };
    expect(() => parseWebEnv(broken)).toThrow(/DATABASE_URL is missing/);
    expect(() => parseWebEnv(broken)).toThrow(/REDIS_URL must look like/);
    expect(() => parseWebEnv(broken)).toThrow(/SPILLWAY_PORT/);
  });

  it("never repeats a value in an error, because most values are secrets", () => {
    const attempt = () => parseWebEnv({ ...complete, SPILLWAY_MASTER_KEY: "c2hvcnQ=", NEXTAUTH_SECRET: "too-short" });
    expect(attempt).toThrow(EnvError);
    expect(attempt).not.toThrow(/c2hvcnQ=|too-short/);
  });

  it("believes no proxy unless told, and takes nothing for one that is no address and no range", () => {
    expect(parseGatewayEnv(complete).SPILLWAY_TRUSTED_PROXIES).toEqual([]);
    const trusting = (SPILLWAY_TRUSTED_PROXIES: string) => parseGatewayEnv({ ...complete, SPILLWAY_TRUSTED_PROXIES });
    const entries = ["10.0.0.5", "10.1.0.0/16", "2001:db8::1", "2001:db8::/32"];
    expect(trusting(entries.join(", ")).SPILLWAY_TRUSTED_PROXIES).toEqual(entries);
    for (const entry of ["10.1.0.0/33", "balancer.internal", "true", "10.1"]) {
      expect(() => trusting(`10.0.0.5,${entry}`)).toThrow(/SPILLWAY_TRUSTED_PROXIES must be addresses and ranges/);
    }
  });

  it("treats an empty variable as not set", () => {
    expect(parseWorkerEnv({ ...complete, REDIS_QUEUE_URL: "", WORKER_PORT: "" })).toMatchObject({ WORKER_PORT: 3001 });
    expect(() => parseWebEnv({ ...complete, NEXTAUTH_SECRET: "" })).toThrow(/NEXTAUTH_SECRET is missing/);
  });

  it("does not ask the gateway for a database, which it must never touch", () => {
    const { DATABASE_URL: _unused, ...rest } = complete;
    expect(parseGatewayEnv(rest)).not.toHaveProperty("DATABASE_URL");
  });
});
