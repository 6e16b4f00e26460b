import { describe, expect, it } from "vitest";
import { portSentence } from "./stack";

describe("a port that cannot be used", () => {
  it("is said in a sentence that tells what to do", () => {
    expect(portSentence("127.0.0.1", 3000, "EADDRINUSE")).toContain("taken by another program");
    expect(portSentence("127.0.0.1", 80, "EACCES")).toContain("above 1023");
    expect(portSentence("10.0.0.9", 3000, "EADDRNOTAVAIL")).toContain("no address 10.0.0.9");
    expect(portSentence("127.0.0.1", 3000, "EMFILE")).toContain("EMFILE");
  });
});
