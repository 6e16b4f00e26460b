/**
 * Keys that were found to exist, by their text: the checksum, the pattern and the HMAC are worked out once while a key is in use.
 * What is not a key of somebody is never kept here, so strangers can neither fill this nor displace anything. Bounded.
 */
import type { Environment } from "@/lib/domain/snapshot";

export interface KnownKey {
  readonly organisationId: string;
  readonly environment: Environment;
  /** HMAC of the text. */
  readonly hash: string;
}

const MAX_KEYS = 20_000;

export class KnownKeys {
  private readonly keys = new Map<string, KnownKey>();

  get(text: string): KnownKey | undefined {
    return this.keys.get(text);
  }

  found(text: string, key: KnownKey): void {
    if (this.keys.size >= MAX_KEYS) this.keys.clear();
    this.keys.set(text, key);
  }

  gone(text: string): void {
    this.keys.delete(text);
  }
}
