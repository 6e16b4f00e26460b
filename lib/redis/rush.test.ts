import { expect, it } from "vitest";
import { Rush } from "./rush";

it("is on while eight calls came within twenty milliseconds, and off again when they do not", () => {
  const rush = new Rush();
  for (let call = 0; call < 7; call += 1) rush.noteCall(1000 + call);
  expect(rush.isOn(1007)).toBe(false);
  rush.noteCall(1007);
  expect(rush.isOn(1020)).toBe(true);
  expect(rush.isOn(1021)).toBe(false);
});

it("is off for calls that come one by one, however many are open", () => {
  const rush = new Rush();
  for (let call = 0; call < 500; call += 1) rush.noteCall(1000 + call * 8);
  expect(rush.isOn(1000 + 500 * 8)).toBe(false);
});
