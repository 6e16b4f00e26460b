/**
 * Raises what a stream holds, ahead of what it passes on: half a slice before it would have to wait. Who has been frozen since, or
 * has no room left, gets no more, and neither does anybody while the store cannot say; what is soft passes then.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import type { BudgetDocument } from "@/lib/domain/snapshot";
import type { TokenUsage } from "@/lib/domain/usage-event";
import type { Authenticated, Held } from "../exchange";
import type { BudgetLedger, ExtendInput, ExtendOutcome, PolicySource, ReserveBudgetLine } from "../ports";
import { StoreUnavailable } from "../ports";
import type { Estimate } from "./estimate";
import { budgetFacts, headOf } from "./reserve";
import { openOf } from "./settle";
import type { Slices } from "./slices";

/** After a refusal nobody asks again for so long, but who would have to wait. */
const AGAIN_MS = 250;
/** Snapshot behind, a few times in a row under constant change. */
const MAX_ROUNDS = 4;
/** Where a slice finds no room a part of it may. */
const SHARES = [1, 4];

export interface RaiseDeps {
  readonly ledger: BudgetLedger;
  readonly policies: PolicySource;
  readonly clock: { nowMs(): number };
}

/** Who calls, asked anew under the newest snapshot: a denial where he would not be let in any more. */
export type AskAgain = () => Promise<Authenticated | Denial>;

interface Asked {
  readonly input: ExtendInput;
  readonly next: Estimate;
}

export class HoldRaiser {
  private readonly organisationId: string;
  private epoch: string;
  private lines: readonly ReserveBudgetLine[];
  private pending: Promise<void> | undefined;
  /** May have been taken: it is asked for again as it was, so that its number stands for one amount. */
  private unsure: Asked | undefined;
  private refusedMs = Number.NEGATIVE_INFINITY;
  private isFree = false;
  /** Why nothing more was held when it was last asked for. */
  refusal: Denial = denial("quota_store_unavailable");

  constructor(
    private readonly held: Held,
    private readonly slices: Slices,
    private readonly usage: () => TokenUsage,
    private readonly askAgain: AskAgain,
    private readonly deps: RaiseDeps,
  ) {
    ({ organisationId: this.organisationId } = openOf(held));
    this.epoch = held.caller.view.epoch;
    this.lines = held.call.lines;
  }

  /** Whether what makes so many bytes of output is covered. Asks for more in time. */
  mayPass(outputBytes: number): boolean {
    const left = this.isFree ? Number.POSITIVE_INFINITY : this.slices.left(outputBytes);
    const isDue = left < this.slices.sliceTokens / 2 && this.deps.clock.nowMs() - this.refusedMs >= AGAIN_MS;
    if (isDue) void this.ask(outputBytes);
    return left >= 0;
  }

  /** Resolves to whether so many bytes are covered, once all has been asked that can be. Never rejects. */
  async cover(outputBytes: number): Promise<boolean> {
    await this.pending;
    if (!this.isCovered(outputBytes)) await this.ask(outputBytes);
    return this.isCovered(outputBytes);
  }

  private isCovered(outputBytes: number): boolean {
    return this.isFree || this.slices.left(outputBytes) >= 0;
  }

  private ask(outputBytes: number): Promise<void> {
    this.pending ??= this.raise(outputBytes)
      .catch((error: unknown) => {
        this.unheard(error);
      })
      .finally(() => {
        this.pending = undefined;
      });
    return this.pending;
  }

  /** No answer came. Throws what is a bug of ours, which ends the stream as a refusal does. */
  private unheard(error: unknown): void {
    this.isFree = this.isSoft();
    this.refuse(denial("quota_store_unavailable"));
    if (!(error instanceof StoreUnavailable)) this.isFree = false;
  }

  private refuse(refusal: Denial): void {
    this.refusal = refusal;
    this.refusedMs = this.deps.clock.nowMs();
  }

  /** Whether nothing that the call charges is enforced. */
  private isSoft(): boolean {
    const { charges } = this.held.serving.plan;
    return this.lines.every(
      ({ enforcement, session }, index) => !(charges[index] || session) || enforcement !== "enforce",
    );
  }

  private async raise(outputBytes: number): Promise<void> {
    const { slices } = this;
    if (this.unsure) {
      const isTaken = await this.take(this.unsure);
      if (!isTaken || slices.left(outputBytes) >= slices.sliceTokens / 2) return;
    }
    for (const share of SHARES) {
      const needed = outputBytes + slices.marginTokens - slices.held.outputTokens;
      const more = Math.max(needed, 0) + slices.sliceTokens / share;
      if (slices.isWhole || (await this.take(this.asked(slices.raised(slices.held.outputTokens + more))))) return;
      if (this.refusal.code !== "budget_exhausted" && this.refusal.code !== "provider_budget_exhausted") return;
    }
  }

  private asked(next: Estimate): Asked {
    const { held, slices, lines, epoch } = this;
    const input = {
      ...openOf(held),
      epoch,
      sequence: slices.sequence + 1,
      budgets: lines,
      amounts: slices.difference(next, lines, held.serving.plan.charges),
      headJson: headOf(held, next),
      usage: this.usage(),
    };
    return { input, next };
  }

  /** Whether it is held now. Throws StoreUnavailable. */
  private async take(asked: Asked): Promise<boolean> {
    let { input } = asked;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      this.unsure = { input, next: asked.next };
      const outcome = await this.deps.ledger.extend(input);
      this.unsure = undefined;
      if (outcome.code === "extended") {
        this.slices.taken(asked.next, outcome.isOverflow);
        return true;
      }
      if (outcome.code !== "stale") return this.refusedBy(outcome);
      if (!(await this.catchUp())) return false;
      input = { ...input, epoch: this.epoch, budgets: this.lines };
    }
    this.refuse(denial("quota_store_unavailable"));
    return false;
  }

  private refusedBy(outcome: Exclude<ExtendOutcome, { code: "extended" | "stale" }>): false {
    const { caller, call } = this.held;
    // Where nothing is enforced a call that the store does not know, or not now, goes on: it is settled for what it used.
    if ((outcome.code === "ended" || outcome.code === "fenced") && this.isSoft()) this.isFree = true;
    const at = "binding" in outcome ? outcome.binding.budget : "budget" in outcome ? outcome.budget : -1;
    if (this.lines[at]?.targetId !== undefined && (outcome.code === "exhausted" || outcome.code === "frozen")) {
      this.refuse(denial("provider_budget_exhausted"));
    } else if (outcome.code === "exhausted") {
      const budget = budgetFacts(caller, call, outcome.binding);
      this.refuse(denial("budget_exhausted", budget ? { budget } : {}));
    } else this.refuse(denial(outcome.code === "frozen" ? "consumer_frozen" : "quota_store_unavailable"));
    return false;
  }

  /** Something has changed: whether the caller may still call, and how his budgets are enforced now. */
  private async catchUp(): Promise<boolean> {
    await this.deps.policies.catchUp(this.organisationId);
    const caller = await this.askAgain();
    if (isDenial(caller)) {
      this.refuse(caller);
      return false;
    }
    this.epoch = caller.view.epoch;
    const inForce = [...caller.chain.budgets, ...[...caller.view.targetBudgets.values()].flat()];
    const budgets = new Map(inForce.map((budget) => [budget.id, budget]));
    this.lines = this.held.call.lines.map((line) => enforcedAs(line, budgets.get(line.budgetId)));
    return true;
  }
}

/** A budget that is gone limits nothing any more. */
function enforcedAs(line: ReserveBudgetLine, budget: BudgetDocument | undefined): ReserveBudgetLine {
  return line.session ? line : { ...line, enforcement: budget?.enforcement ?? "shadow" };
}
