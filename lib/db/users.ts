/** People and their roles in the tree. Password hashes leave this file through `findUserForSignIn` only. */
import type { Membership, User } from "@/lib/domain/entities";
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";

const select = {
  id: true,
  email: true,
  name: true,
  locale: true,
  sessionVersion: true,
  disabledAt: true,
} satisfies Prisma.UserSelect;
const membershipSelect = {
  id: true,
  organisationId: true,
  userId: true,
  consumerId: true,
  role: true,
} satisfies Prisma.MembershipSelect;

export async function findUser(tx: Tx, id: string): Promise<User | null> {
  return tx.user.findUnique({ where: { id }, select });
}

export async function findUserByEmail(tx: Tx, email: string): Promise<User | null> {
  return tx.user.findUnique({ where: { email: email.toLowerCase() }, select });
}

/** The user with the argon2id hash of the password; null hash for single sign-on users. */
export async function findUserForSignIn(
  tx: Tx,
  email: string,
): Promise<(User & { readonly passwordHash: string | null }) | null> {
  return tx.user.findUnique({ where: { email: email.toLowerCase() }, select: { ...select, passwordHash: true } });
}

/** Whether anybody has an account on this installation. */
export async function hasUsers(tx: Tx): Promise<boolean> {
  return (await tx.user.findFirst({ select: { id: true } })) !== null;
}

export async function insertUser(
  tx: Tx,
  row: Omit<User, "sessionVersion" | "disabledAt"> & { readonly passwordHash: string | null },
): Promise<User> {
  return tx.user.create({ data: { ...row, email: row.email.toLowerCase() }, select });
}

/** Memberships of one user, in every organisation. */
export async function listMembershipsOfUser(tx: Tx, userId: string): Promise<Membership[]> {
  return tx.membership.findMany({ where: { userId }, select: membershipSelect });
}

export async function insertMembership(tx: Tx, row: Membership): Promise<Membership> {
  return tx.membership.create({ data: row, select: membershipSelect });
}

export async function findMembership(tx: Tx, organisationId: string, id: string): Promise<Membership | null> {
  return tx.membership.findFirst({ where: { id, organisationId }, select: membershipSelect });
}

/** How many people hold the role at this node. */
export async function countMembers(tx: Tx, consumerId: string, role: Membership["role"]): Promise<number> {
  return tx.membership.count({ where: { consumerId, role } });
}

export async function deleteMembership(tx: Tx, id: string): Promise<void> {
  await tx.membership.delete({ where: { id } });
}

/** Names of these people, by id. */
export async function listUserNames(tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.user.findMany({ where: { id: { in: [...ids] } }, select: { id: true, name: true } });
  return new Map(rows.map((row) => [row.id, row.name]));
}
