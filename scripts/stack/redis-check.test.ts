import { describe, expect, it } from "vitest";
import { refuseEvicting } from "./redis-check";

const memory = (policy: string, limit: string) =>
  `used_memory:1\r\nmaxmemory:${limit}\r\nmaxmemory_policy:${policy}\r\n`;

describe("a Redis that is given", () => {
  it("may not remove keys when its memory is full", () => {
    expect(() => refuseEvicting(memory("allkeys-lru", "1000000"))).toThrow("maxmemory-policy allkeys-lru");
    expect(() => refuseEvicting(memory("volatile-ttl", "1000000"))).toThrow("noeviction");
  });

  it("is good where nothing is ever removed, or where it does not say", () => {
    expect(() => refuseEvicting(memory("noeviction", "1000000"))).not.toThrow();
    expect(() => refuseEvicting(memory("allkeys-lru", "0"))).not.toThrow();
    expect(() => refuseEvicting("")).not.toThrow();
  });
});
