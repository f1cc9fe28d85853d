import { dirname } from 'node:path'
import { namingFor } from '@countersign/protocol'
import { verifyOwner } from '../../../src/accounts/identity/record-verification.ts'
import { addOwner } from '../../../src/accounts/owners/add-owner.ts'
import { type AdmitDeps, admit } from '../../../src/agents/enrolment/admit.ts'
import {
  END_ENROLMENT,
  endAgentsOfRule,
  endUnseen,
  scheduleEndOfRule,
} from '../../../src/agents/enrolment/end-enrolment.ts'
import { insertRule } from '../../../src/agents/enrolment/rule-table.ts'
import { siteOf } from '../../../src/base/site.ts'
import type { Database } from '../../../src/database/database.ts'
import { takeJob } from '../../../src/database/jobs/job-table.ts'
import { openDatabase } from '../../../src/database/open-database.ts'
import { loadPepper } from '../../../src/secrets/secrets.ts'
import { EFFECTS } from '../../../src/service/effects.ts'
import { beforeStatements } from '../keys/killable-operations.ts'

/* Does one operation of enrolment and kills its own process with SIGKILL before the given statement of it. Arguments: the file, the
 * operation, the number of the statement. */

export type OperationName = 'enrol' | 'renew' | 'unseen' | 'rule'

const NOW = 1_800_000_000_000
const RULE = `er_${'1'.repeat(22)}`
const HOUR_MS = 3_600_000

export function open(file: string): Promise<Database> {
  return openDatabase({ kind: 'sqlite', file }, () => NOW, EFFECTS)
}

/** Makes the state in which an operation begins: an owner with a rule, and for all but the first operation an agent. */
export async function prepare(db: Database, file: string, name: OperationName): Promise<void> {
  const folder = dirname(file)
  const pepper = loadPepper({ keysDir: folder, dataDir: folder })
  const deps = { db, pepper, naming: namingFor(), now: () => NOW }
  const { id } = await addOwner(deps, { username: 'ada', displayName: 'Ada' })
  const subject = { provider: 'in-person', issuer: 'host', subject: 'ada' }
  await verifyOwner(deps, id, { ...subject, assurance: 'substantial', expiresAt: null })
  await db.write((tx) =>
    insertRule(tx, {
      ...{ id: RULE, owner_id: id, name: 'pods', state: 'active' },
      ...{ created_by: null, responsible: null },
      ...{ issuer: 'https://platform.example', trust_domain: null, binding: 'token' },
      ...{ keys: '{"discovery":true}', match: '{"/sub":"a"}' },
      ...{ agent_label: 'a', agent_label_claim: null, display_name: 'A', description: null },
      ...{ max_live: 9, unseen_after_seconds: 3600, max_token_seconds: 3600 },
      ...{ created_at: NOW, admitted_at: NOW, last_enrolled_at: null },
      ...{ refused_at: null, refused_check: null },
      ...{ keys_read_at: NOW, keys_failed_at: NOW, keys_problem: 'away' },
    }),
  )
  if (name !== 'enrol') await enrolAt(db, NOW)
  if (name === 'rule') await db.write((tx) => scheduleEndOfRule(tx, RULE, NOW))
}

async function enrolAt(db: Database, at: number): Promise<void> {
  const token = 'h.p.s'
  const publicKey = Buffer.alloc(32, 1)
  const accepted = {
    ...{ claims: { sub: 'a' }, agentId: 'a', isBoundToKey: false, expiresAt: NOW / 1000 + 600 },
    ...{ keysReadAt: at, keysProblem: null },
  }
  const signature = `${'A'.repeat(86)}==`
  const evidence = { rule: RULE, token, publicKey: '', issuedAt: at / 1000, signature }
  const deps: AdmitDeps = {
    site: siteOf(namingFor(), new URL('https://id.example')),
    keyReuse: 'owner',
    ...{ now: () => at, randomBytes: (count: number) => Buffer.alloc(count, 7), newAgents: null },
  }
  const workload = { ruleId: RULE, token, publicKey, thumbprint: 'x', evidence, accepted }
  await db.write((tx) => admit(deps, tx, workload))
}

export async function operate(db: Database, name: OperationName): Promise<void> {
  if (name === 'enrol') return enrolAt(db, NOW)
  if (name === 'renew') return enrolAt(db, NOW + 1000)
  const [job] = await db.read
    .selectFrom('jobs')
    .selectAll()
    .where('kind', name === 'rule' ? '<>' : '=', END_ENROLMENT)
    .execute()
  if (job === undefined) throw new Error('there is no job')
  await db.write(async (tx) => {
    if (!(await takeJob(tx, job))) return
    if (name === 'rule') await endAgentsOfRule(tx, job, NOW)
    else await endUnseen(tx, job, NOW + HOUR_MS)
  })
}

/** Everything that an operation can change. */
export async function stateOf(db: Database): Promise<string> {
  const rows = await Promise.all([
    db.read.selectFrom('agents').selectAll().execute(),
    db.read.selectFrom('enrolments').selectAll().execute(),
    db.read.selectFrom('enrolment_tokens').selectAll().execute(),
    db.read.selectFrom('enrolment_rules').selectAll().execute(),
    db.read.selectFrom('events').selectAll().orderBy('seq').execute(),
    db.read.selectFrom('log_queue').selectAll().orderBy('seq').execute(),
    db.read.selectFrom('jobs').selectAll().orderBy('id').execute(),
  ])
  return JSON.stringify(rows)
}

if (import.meta.main) {
  const [file = '', name = '', before = ''] = process.argv.slice(2)
  const db = await open(file)
  beforeStatements((number) => {
    if (number === Number(before)) process.kill(process.pid, 'SIGKILL')
  })
  await operate(db, name as OperationName)
  process.exit(0)
}
