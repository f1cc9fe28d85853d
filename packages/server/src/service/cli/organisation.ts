import { CodedError } from '@countersign/protocol'
import type { Command } from 'commander'
import { ADD_ADMIN, announceAdmin, cancelAdmin } from '../../accounts/organisations/add-admin.ts'
import { endMembership } from '../../accounts/organisations/end-membership.ts'
import { type MemberRow, membersOf } from '../../accounts/organisations/membership-table.ts'
import { ownerById, ownersAfter } from '../../accounts/owner-table.ts'
import { verificationsOfOwner } from '../../accounts/verification-table.ts'
import type { Env } from '../../base/config.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { Db, OwnerRow } from '../../database/database.ts'
import { jobsByPrefix } from '../../database/jobs/job-table.ts'
import { withData } from './command-context.ts'
import { print, table } from './output.ts'
import { requireOwner } from './owner.ts'

const PAGE = 1000

export function organisationCommands(program: Command, env: Env): void {
  const organisation = program
    .command('organisation')
    .description('organisations, for which several people act')

  organisation
    .command('list')
    .description('list organisations')
    .action((_options: unknown, command: Command) => list(env, command))

  organisation
    .command('show')
    .description('show an organisation and its members')
    .argument('<organisation>', 'its username')
    .action((username: string, _options: unknown, command: Command) => show(env, username, command))

  organisation
    .command('remove-member')
    .description('remove a member, and end what lets them act for the organisation')
    .argument('<organisation>', 'its username')
    .argument('<member>', 'the username, or the id from: countersignd organisation show')
    .action((username: string, member: string, _options: unknown, command: Command) =>
      removeMember(env, username, member, command),
    )

  organisation
    .command('add-admin')
    .description(
      'make a person an admin after RECOVERY_DELAY; all members are notified at once, and can object',
    )
    .argument('<organisation>', 'its username')
    .argument('<person>', 'the username of the account')
    .option('--cancel', 'do not make them an admin after all')
    .action((username: string, person: string, options: { cancel?: true }, command: Command) =>
      addAdmin(env, { username, person, isCancelled: options.cancel === true }, command),
    )
}

/** @throws CodedError NOT_FOUND */
async function requireOrganisation(db: Db, username: string): Promise<OwnerRow> {
  const owner = await requireOwner(db, username)
  if (owner.kind === 'organisation') return owner
  throw new CodedError(
    'NOT_FOUND',
    `${username} is no organisation. See: countersignd organisation list`,
  )
}

async function list(env: Env, command: Command): Promise<void> {
  const organisations = await withData(env, ({ db, now }) => allOrganisations(db.read, now()))
  const rows = organisations.map((each) => [
    each.username,
    each.displayName,
    each.verified ? 'yes' : 'no',
    String(each.members),
    each.admins.join(', '),
    each.suspendedAt === null ? '-' : `since ${each.suspendedAt}`,
  ])
  const headings = ['USERNAME', 'NAME', 'VERIFIED', 'MEMBERS', 'ADMINS', 'SUSPENDED']
  print(command, organisations, table(headings, rows))
}

async function allOrganisations(db: Db, now: number) {
  const organisations = []
  for (let after = 0; ; ) {
    const page = await ownersAfter(db, after, PAGE)
    for (const owner of page.filter(({ kind }) => kind === 'organisation')) {
      const members = await membersOf(db, owner.id)
      const verifications = await verificationsOfOwner(db, owner.id)
      organisations.push({
        username: owner.username,
        displayName: owner.display_name,
        createdAt: timestamp(owner.created_at),
        suspendedAt: owner.suspended_at === null ? null : timestamp(owner.suspended_at),
        verified: verifications.some(({ expires_at }) => expires_at === null || expires_at > now),
        members: members.length,
        admins: members.filter(({ role }) => role === 'admin').map(({ username }) => username),
      })
    }
    const last = page.at(-1)
    if (last === undefined) return organisations
    after = last.id
  }
}

async function show(env: Env, username: string, command: Command): Promise<void> {
  const shown = await withData(env, async ({ db }) => {
    const { id, display_name } = await requireOrganisation(db.read, username)
    const members = (await membersOf(db.read, id)).map(describeMember)
    const announcedAdmins = await announcedIn(db.read, id)
    return { username, displayName: display_name, members, announcedAdmins }
  })
  const rows = shown.members.map((each) => [
    each.id,
    each.username,
    each.displayName,
    each.role,
    each.source,
    each.since,
  ])
  const announced = shown.announcedAdmins.map(
    (each) => `${each.username} becomes an admin on ${each.effectiveAt}.`,
  )
  const members = table(['MEMBER', 'USERNAME', 'NAME', 'ROLE', 'SOURCE', 'SINCE'], rows)
  print(command, shown, [members, ...announced].join('\n'))
}

function describeMember({ id, username, display_name, role, source, created_at }: MemberRow) {
  return { id, username, displayName: display_name, role, source, since: timestamp(created_at) }
}

/** Those who become admins by `add-admin`. */
async function announcedIn(db: Db, orgId: number) {
  const jobs = await jobsByPrefix(db, `${ADD_ADMIN}:${orgId}:`)
  return Promise.all(
    jobs.map(async ({ subject, run_at }) => ({
      username: (await ownerById(db, Number(subject.split(' ')[1])))?.username ?? null,
      effectiveAt: timestamp(run_at),
    })),
  )
}

async function removeMember(
  env: Env,
  username: string,
  wanted: string,
  command: Command,
): Promise<void> {
  const { member, ended } = await withData(env, async ({ db, now }) => {
    const { id } = await requireOrganisation(db.read, username)
    return db.write(async (tx) => {
      const members = await membersOf(tx.db, id)
      const found = members.find((each) => each.id === wanted || each.username === wanted)
      const ended = found && (await endMembership(tx, found.id, 'operator', now()))
      if (found === undefined || !ended) {
        throw new CodedError('NOT_FOUND', `${username} has no member ${wanted}.`)
      }
      return { member: found.id, ended }
    })
  })
  const text = `${wanted} is no longer a member of ${username}; ${ended.apiKeysEnded} API keys ended.`
  print(command, { organisation: username, member, ...ended }, text)
}

async function addAdmin(
  env: Env,
  wanted: { readonly username: string; readonly person: string; readonly isCancelled: boolean },
  command: Command,
): Promise<void> {
  const { username, person, isCancelled } = wanted
  const effectiveAt = await withData(env, async ({ db, settings, now }) => {
    const organisation = await requireOrganisation(db.read, username)
    const owner = await requireOwner(db.read, person)
    const at = now()
    const times = { at, effectiveAt: at + settings.recoveryDelayMs }
    await db.write((tx) =>
      isCancelled
        ? cancelAdmin(tx, organisation.id, owner.id)
        : announceAdmin(tx, organisation, owner, times),
    )
    return isCancelled ? null : timestamp(times.effectiveAt)
  })
  const text =
    effectiveAt === null
      ? `${person} does not become an admin of ${username}.`
      : `${person} becomes an admin of ${username} on ${effectiveAt}. The members are notified.`
  print(command, { organisation: username, person, effectiveAt }, text)
}
