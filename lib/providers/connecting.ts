/** Agents by how long they wait for a connection: undici bounds connecting by the pool, and deployments differ in it. */
import type { Agent } from "undici";
import { guardedAgent } from "@/lib/net/guarded-connect";
import type { OutboundPolicy } from "@/lib/net/outbound-policy";

const DEFAULT_CONNECT_MS = 10_000;
/** Waits that have a pool of their own; more are not told apart from the installation's. */
const MAX_AGENTS = 16;

export interface ConnectingOptions {
  readonly outbound: OutboundPolicy;
  /** Of deployments that name none. */
  readonly connectTimeoutMs?: number | undefined;
  readonly connectionsPerOrigin: number;
}

export class ConnectingAgents {
  private readonly agents = new Map<number, Agent>();
  private readonly usual: Agent;

  constructor(private readonly options: ConnectingOptions) {
    this.usual = this.create(options.connectTimeoutMs ?? DEFAULT_CONNECT_MS);
  }

  /** The agent that gives up connecting after so many milliseconds; the installation's where none are named. */
  of(timeoutMs: number | undefined): Agent {
    if (timeoutMs === undefined) return this.usual;
    const known = this.agents.get(timeoutMs);
    if (known) return known;
    if (this.agents.size >= MAX_AGENTS) return this.usual;
    const agent = this.create(timeoutMs);
    this.agents.set(timeoutMs, agent);
    return agent;
  }

  async destroy(): Promise<void> {
    await Promise.all([this.usual, ...this.agents.values()].map((agent) => agent.destroy()));
  }

  private create(timeoutMs: number): Agent {
    const { outbound, connectionsPerOrigin } = this.options;
    return guardedAgent({ policy: outbound, connectionsPerOrigin, timeoutMs });
  }
}
