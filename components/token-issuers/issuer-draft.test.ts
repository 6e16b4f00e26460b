import { describe, expect, it } from "vitest";
import type { TokenIssuerView } from "@/lib/contracts/token-issuers";
import { draftOf, EMPTY_DRAFT, formErrors, toInput } from "./issuer-draft";

const view: TokenIssuerView = {
  id: "iss_1",
  name: "Login",
  kind: "introspection",
  issuer: "https://login.example/",
  audiences: ["spillway", "models"],
  endpoint: "https://login.example/introspect",
  algorithms: [],
  clientId: "sw",
  tokenPrefix: "oat_",
  clockToleranceSeconds: 45,
  claims: { consumer: ["https://example.com/claims", "team.id"], user: ["sub"], scopes: null },
  consumers: { "team-a": "con_a" },
  environment: "test",
  trafficClass: "core",
  entitledClasses: ["core"],
  secretChangedAtMs: 1,
  disabled: true,
};

describe("the form of a token issuer", () => {
  it("gives back what it was given: claims with dots, the mapping, the state, and no secret", () => {
    const checked = toInput(draftOf(view));
    expect(checked).toEqual({
      ok: true,
      input: {
        kind: "introspection",
        name: "Login",
        issuer: "https://login.example/",
        audiences: ["spillway", "models"],
        clockToleranceSeconds: 45,
        claims: view.claims,
        consumers: { "team-a": "con_a" },
        environment: "test",
        trafficClass: "core",
        entitledClasses: ["core"],
        disabled: true,
        introspectionUrl: "https://login.example/introspect",
        clientId: "sw",
        tokenPrefix: "oat_",
      },
    });
  });

  it("names every field that is missing, as the form calls it", () => {
    const checked = toInput({ ...EMPTY_DRAFT, tolerance: "soon", mapping: [{ value: " ", consumerId: "con_a" }] });
    expect(checked.ok ? {} : checked.errors).toEqual({
      name: "required",
      issuer: "required",
      audiences: "required",
      endpoint: "required",
      tolerance: "number_out_of_range",
      consumerClaim: "required",
      consumers: "required",
    });
  });

  it("finds the place of what the server says", () => {
    expect(formErrors({ jwksUrl: "url_private", "claims.user.0": "required", "audiences.1": "too_long" })).toEqual({
      endpoint: "url_private",
      userClaim: "required",
      audiences: "too_long",
    });
  });
});
