import { describe, expect, it } from "vitest";
import { localUrl } from "../stack/processes";
import { chooseModel } from "./example-model";
import { readyMessage } from "./run";

describe("what is said when all is ready", () => {
  const url = "http://127.0.0.1:3000";

  it("has everything a person needs to go on: address, sign-in, key and a command that works as it stands", () => {
    const firstRun = { email: "ada@example.com", password: "secret", apiKey: "sw_live_x" };
    const message = readyMessage({ url, firstRun, took: "9.0 s" }, "/data/logs", "qwen-plus");
    expect(message).toContain("ada@example.com   secret");
    expect(message).toContain(`curl ${url}/api/v1/chat/completions -H "Authorization: Bearer sw_live_x"`);
    expect(message).toContain('"model":"qwen-plus"');
  });

  it("names a small model that chats", () => {
    expect(chooseModel(["text-embedding-3-small", "gpt-5", "gpt-5-mini"])).toBe("gpt-5-mini");
    expect(chooseModel(["text-embedding-3-small", "glm-4.6"])).toBe("glm-4.6");
    expect(chooseModel([])).toBeUndefined();
  });

  it("does not pretend to know a sign-in that another checkout made", () => {
    expect(readyMessage({ url, firstRun: undefined, took: "2.0 s" }, "/data/logs")).toContain(
      "first start of this database",
    );
  });

  it("gives no key and no command once the sample company is gone", () => {
    const firstRun = { email: "ada@example.com", password: "secret", apiKey: "sw_live_x" };
    const message = readyMessage({ url, firstRun, took: "2.0 s" }, "/data/logs", null);
    expect(message).toContain("ada@example.com   secret");
    expect(message).not.toContain("sw_live_x");
  });

  it("names an address that this machine can open, whatever was listened on", () => {
    expect(localUrl("0.0.0.0", 3000)).toBe(url);
    expect(localUrl("::1", 3000)).toBe("http://[::1]:3000");
  });
});
