import { expect, it } from "vitest";
import { hasVagueImages } from "./vague-images";

const NO_TOKENS = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };
const rates = {
  images: [
    { size: "1024x1024", quality: "standard", perImage: "0.04" },
    { size: "1024x1024", quality: "hd", perImage: "0.08" },
    { size: "512x512", perImage: "0.02" },
  ],
};
const vague = (image: object) => hasVagueImages({ ...NO_TOKENS, images: [{ count: 1, ...image }] }, rates);

it("a picture is vague where its price hangs on what nobody said", () => {
  expect(vague({})).toBe(true);
  expect(vague({ size: "1024x1024" })).toBe(true);
  expect(vague({ size: "auto", quality: "standard" })).toBe(true);
});

it("and is not where one price fits, or none tells pictures apart", () => {
  expect(vague({ size: "1024x1024", quality: "hd" })).toBe(false);
  expect(vague({ size: "512x512" })).toBe(false);
  expect(hasVagueImages({ ...NO_TOKENS, images: [{ count: 1 }] }, { perImage: "0.04" })).toBe(false);
  expect(hasVagueImages(NO_TOKENS, rates)).toBe(false);
});
