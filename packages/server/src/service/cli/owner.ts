import { randomBytes } from 'node:crypto'
import { ASSURANCES, type Assurance, CodedError } from '@countersign/protocol'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { assertSamePepper } from '../../accounts/identity/pepper-check.ts'
import { unverifyOwner, verifyOwner } from '../../accounts/identity/record-verification.ts'
import { publishableName } from '../../accounts/identity/verify.ts'
import { ownerByUsername, ownersAfter } from '../../accounts/owner-table.ts'
import { addOwner } from '../../accounts/owners/add-owner.ts'
import { issueSignInLink } from '../../accounts/owners/sign-in-link.ts'
import { IN_PERSON } from '../../accounts/providers/in-person.ts'
import { verificationsOfOwner } from '../../accounts/verification-table.ts'
import { issueToken } from '../../agents/claims/issue-token.ts'
import { reactivateOwner, suspendOwner } from '../../agents/manage/suspend-owner.ts'
import type { Env } from '../../base/config.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { Db, OwnerRow } from '../../database/database.ts'
import { removeDeleted } from '../privacy/after-erasure.ts'
import { deleteAccount } from '../privacy/delete-account.ts'
import { Erasures } from '../privacy/erasures.ts'
import { type CommandContext, withData } from './command-context.ts'
import { print, table } from './output.ts'

const PAGE = 1000

export function ownerCommands(program: Command, env: Env): void {
  const owner = program.command('owner').description('owners of agents: people and companies')

  owner
    .command('add')
    .description('add an owner')
    .argument('<username>', '3 to 32 characters out of a-z, 0-9 and -')
    .requiredOption('--name <display name>', 'the name on pages')
    .action(async (username: string, { name }: { name: string }, command: Command) => {
      await withData(env, (context) => addOwner(context, { username, displayName: name }))
      print(command, { username, displayName: name }, `Added ${username} (${name}).`)
    })

  owner
    .command('verify')
    .description('record that you verified the identity of an owner')
    .argument('<username>')
    .addOption(
      new Option('--provider <id>', 'how: in-person is your own check of a document')
        .choices([IN_PERSON])
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--assurance <level>', 'how sure you are')
        .choices(ASSURANCES)
        .default('substantial'),
    )
    .option(
      '--expires <date>',
      'ISO 8601 date or time at which it ends (default: never)',
      parseDate,
    )
    .option('--name <name>', 'the name of an organisation, as its register has it: it is published')
    .action((username: string, options: VerifyOptions, command: Command) =>
      verify(env, username, options, command),
    )

  owner
    .command('unverify')
    .description('remove an identity verification')
    .argument('<username>')
    .requiredOption('--provider <id>', 'the provider whose verification ends')
    .action((username: string, options: { provider: string }, command: Command) =>
      unverify(env, username, options, command),
    )

  owner
    .command('suspend')
    .description(
      'suspend an owner and their agents; they can sign in and see why, and issue nothing',
    )
    .argument('<username>')
    .option('--reason <code>', 'why: a word such as terms_violation, which the owner can read')
    .action((username: string, { reason }: { reason?: string }, command: Command) =>
      suspend(env, username, reason ?? null, command),
    )

  owner
    .command('reactivate')
    .description('lift the suspension of an owner and of the agents that it suspended')
    .argument('<username>')
    .action((username: string, _options: unknown, command: Command) =>
      reactivate(env, username, command),
    )

  owner
    .command('delete')
    .description('delete the account of an owner and revoke their agents permanently')
    .argument('<username>')
    .action((username: string, _options: unknown, command: Command) =>
      remove(env, username, command),
    )

  owner
    .command('list')
    .description('list owners and their verifications')
    .action((_options: unknown, command: Command) => list(env, command))
}

/** @throws CodedError NOT_FOUND */
export async function requireOwner(db: Db, username: string): Promise<OwnerRow> {
  const owner = await ownerByUsername(db, username)
  if (owner !== undefined && owner.deleted_at === null) return owner
  throw new CodedError('NOT_FOUND', `There is no owner ${username}. See: countersignd owner list`)
}

/** @throws CodedError VALIDATION_ERROR for an account that an organisation's identity provider manages, and that owns nothing */
function assertNotManaged({ kind, username }: OwnerRow): void {
  if (kind !== 'member') return
  throw new CodedError(
    'VALIDATION_ERROR',
    `${username} is managed by the identity provider of an organisation, and owns no agents.`,
  )
}

interface VerifyOptions {
  readonly provider: string
  readonly assurance: Assurance
  readonly expires?: number
  readonly name?: string
}

async function verify(
  env: Env,
  username: string,
  options: VerifyOptions,
  command: Command,
): Promise<void> {
  const { provider, assurance, name } = options
  const expiresAt = options.expires ?? null
  await withData(env, async (context) => {
    await assertSamePepper(context)
    const owner = await requireOwner(context.db.read, username)
    assertNotManaged(owner)
    const publishedName = name === undefined ? null : registeredName(owner, name, assurance)
    // The operator verifies one owner in person: the owner's own id serves as the subject.
    const subject = String(owner.id)
    await verifyOwner(context, owner.id, {
      provider,
      issuer: 'host',
      subject,
      assurance,
      expiresAt,
      publishedName,
    })
  })
  const expires = expiresAt === null ? null : timestamp(expiresAt)
  const until = expires === null ? '' : `, until ${expires}`
  print(
    command,
    { username, provider, assurance, expiresAt: expires },
    `${username} is verified by ${provider} (${assurance})${until}.`,
  )
}

/** People decide for themselves whether their verified name is published. */
function registeredName(owner: OwnerRow, name: string, assurance: Assurance): string {
  if (owner.kind !== 'organisation') {
    throw new CodedError(
      'VALIDATION_ERROR',
      `${owner.username} is no organisation: leave out --name.`,
    )
  }
  const published = publishableName({ name, assurance })
  if (published !== null) return published
  throw new CodedError(
    'VALIDATION_ERROR',
    'This name cannot be published: it needs 1 to 128 characters without control characters or imitations of letters, and at least substantial assurance.',
  )
}

async function unverify(
  env: Env,
  username: string,
  { provider }: { provider: string },
  command: Command,
): Promise<void> {
  await withData(env, async (context) => {
    const owner = await requireOwner(context.db.read, username)
    if (await unverifyOwner(context, owner.id, provider)) return
    throw new CodedError('NOT_FOUND', `${username} has no verification by ${provider}.`)
  })
  print(command, { username, provider }, `${username} is no longer verified by ${provider}.`)
}

async function suspend(
  env: Env,
  username: string,
  reason: string | null,
  command: Command,
): Promise<void> {
  const suspendedAgents = await withOwner(env, username, (context, ownerId) =>
    suspendOwner(context, ownerId, reason),
  )
  const text = `${username} is suspended, and with them ${agents(suspendedAgents)}.`
  print(command, { username, reason, suspendedAgents }, text)
}

async function reactivate(env: Env, username: string, command: Command): Promise<void> {
  const reactivatedAgents = await withOwner(env, username, reactivateOwner)
  const text = `${username} is no longer suspended; ${agents(reactivatedAgents)} active again.`
  print(command, { username, reactivatedAgents }, text)
}

async function remove(env: Env, username: string, command: Command): Promise<void> {
  const revokedAgents = await withOwner(env, username, async (context, ownerId) => {
    const erasures = new Erasures(context.settings.dataDir)
    const revoked = await deleteAccount({ ...context, erasures }, ownerId, username)
    // If others read just now, the service tries again.
    await removeDeleted(context.db)
    return revoked
  })
  const text = `The account of ${username} is deleted; ${agents(revokedAgents)} revoked.`
  print(command, { username, revokedAgents }, text)
}

function withOwner<T>(
  env: Env,
  username: string,
  work: (context: CommandContext, ownerId: number) => Promise<T>,
): Promise<T> {
  return withData(env, async (context) =>
    work(context, (await requireOwner(context.db.read, username)).id),
  )
}

function agents(count: number): string {
  return count === 1 ? '1 agent' : `${count} agents`
}

async function list(env: Env, command: Command): Promise<void> {
  const owners = await withData(env, ({ db }) => allOwners(db.read))
  const rows = owners.map((each) => [
    each.username,
    each.kind,
    each.displayName,
    each.verifications.map((v) => `${v.provider} (${v.assurance})`).join(', ') || '-',
    each.suspendedAt === null ? '-' : `since ${each.suspendedAt}`,
  ])
  print(command, owners, table(['USERNAME', 'KIND', 'NAME', 'VERIFIED BY', 'SUSPENDED'], rows))
}

async function allOwners(db: Db) {
  const owners = []
  for (let after = 0; ; ) {
    const page = await ownersAfter(db, after, PAGE)
    for (const owner of page.filter((each) => each.deleted_at === null)) {
      const verifications = await verificationsOfOwner(db, owner.id)
      owners.push({
        username: owner.username,
        kind: owner.kind,
        displayName: owner.display_name,
        createdAt: timestamp(owner.created_at),
        suspendedAt: owner.suspended_at === null ? null : timestamp(owner.suspended_at),
        suspensionReason: owner.suspension_reason,
        verifications: verifications.map((each) => ({
          provider: each.provider,
          assurance: each.assurance,
          verifiedAt: timestamp(each.verified_at),
          expiresAt: each.expires_at === null ? null : timestamp(each.expires_at),
        })),
      })
    }
    const last = page.at(-1)
    if (last === undefined) return owners
    after = last.id
  }
}

function parseDate(text: string): number {
  const time = Date.parse(text)
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(time)) {
    throw new InvalidArgumentError('It must be an ISO 8601 date, such as 2027-12-31.')
  }
  return time
}

/** `countersignd owner sign-in-link`: for the operator's first sign-in, and for owners who have lost every sign-in method. */
export function signInLinkCommand(program: Command, env: Env): void {
  program.commands
    .find((each) => each.name() === 'owner')
    ?.command('sign-in-link')
    .description(
      'create a single-use sign-in link for an owner; expires after 15 minutes and invalidates the previous one',
    )
    .argument('<username>')
    .action(async (username: string, _options: unknown, command: Command) => {
      const link = await withData(env, async ({ db, settings, now }) => {
        const owner = await requireOwner(db.read, username)
        assertSignsIn(owner)
        return issueSignInLink({ db, now, randomBytes }, settings.baseUrl.origin, owner.id)
      })
      print(command, { url: link.url, expiresAt: timestamp(link.expiresAt) }, link.url)
    })
}

/** @throws CodedError VALIDATION_ERROR for an organisation, as which nobody signs in, and for a managed account */
function assertSignsIn(owner: OwnerRow): void {
  assertNotManaged(owner)
  if (owner.kind === 'person') return
  throw new CodedError(
    'VALIDATION_ERROR',
    `${owner.username} is an organisation, and its members sign in. See: countersignd organisation show ${owner.username}`,
  )
}

export function tokenCommands(program: Command, env: Env): void {
  const token = program.command('token').description('claim tokens')

  token
    .command('issue')
    .description('create a claim token: single-use, for one agent, valid for 10 minutes')
    .argument('<username>', 'the owner of the agent')
    .action(async (username: string, _options: unknown, command: Command) => {
      const issued = await withData(env, async ({ db, settings, now }) => {
        const owner = await requireOwner(db.read, username)
        assertNotManaged(owner)
        if (owner.kind === 'organisation') {
          throw new CodedError(
            'VALIDATION_ERROR',
            `${username} is an organisation: its members create claim tokens, and are responsible for the agents.`,
          )
        }
        return issueToken({ db, naming: settings.naming, now, randomBytes }, owner.id)
      })
      const { claimToken } = issued
      print(command, { claimToken, expiresAt: timestamp(issued.expiresAt) }, claimToken)
    })
}
