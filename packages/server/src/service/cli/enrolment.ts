import type { Command } from 'commander'
import { ownerById } from '../../accounts/owner-table.ts'
import {
  endRuleByOperator,
  pauseRuleByOperator,
  rulesOfEverybody,
} from '../../agents/enrolment/operate-rules.ts'
import type { Env } from '../../base/config.ts'
import { siteOf } from '../../base/site.ts'
import { withData } from './command-context.ts'
import { print, table } from './output.ts'

export function enrolmentCommands(program: Command, env: Env): void {
  const enrolment = program
    .command('enrolment')
    .description('rules by which workloads enrol with the tokens of their platforms')

  enrolment
    .command('list')
    .description('list the enrolment rules of all owners')
    .action((_options: unknown, command: Command) => list(env, command))

  enrolment
    .command('pause')
    .description('pause a rule: nobody enrols or renews; the owner can resume it')
    .argument('<rule>', 'its id, from: countersignd enrolment list')
    .action((rule: string, _options: unknown, command: Command) => pause(env, rule, command))

  enrolment
    .command('end')
    .description('pause a rule, and revoke all its agents')
    .argument('<rule>', 'its id, from: countersignd enrolment list')
    .action((rule: string, _options: unknown, command: Command) => end(env, rule, command))
}

async function list(env: Env, command: Command): Promise<void> {
  const rules = await withData(env, async ({ db, settings }) => {
    const all = await rulesOfEverybody({ db, site: siteOf(settings.naming, settings.baseUrl) })
    return Promise.all(
      all.map(async ({ ownerId, id, name, state, live, issuer, lastEnrolledAt }) => {
        const owner = (await ownerById(db.read, ownerId))?.username ?? null
        return { id, owner, name, state, live, issuer, lastEnrolledAt }
      }),
    )
  })
  const rows = rules.map((each) => [
    each.id,
    each.owner ?? '-',
    each.state,
    String(each.live),
    each.lastEnrolledAt ?? '-',
    each.name,
  ])
  const headings = ['RULE', 'OWNER', 'STATE', 'LIVE', 'LAST ENROLLED', 'NAME']
  print(command, rules, table(headings, rows))
}

async function pause(env: Env, rule: string, command: Command): Promise<void> {
  await withData(env, ({ db, settings, now }) =>
    pauseRuleByOperator({ db, site: siteOf(settings.naming, settings.baseUrl), now }, rule),
  )
  print(command, { rule, state: 'paused' }, `${rule} is paused. Its owner is notified.`)
}

async function end(env: Env, rule: string, command: Command): Promise<void> {
  const { ending } = await withData(env, ({ db, settings, now }) =>
    endRuleByOperator({ db, site: siteOf(settings.naming, settings.baseUrl), now }, rule),
  )
  const text = `${rule} is paused. The running service revokes its agents: ${ending}.`
  print(command, { rule, state: 'paused', ending }, text)
}
