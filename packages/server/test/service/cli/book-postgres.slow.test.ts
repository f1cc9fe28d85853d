import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { digestOf } from '../../../../../test/support/database-digest.ts'
import { DocPage } from '../../../../../test/support/doc-page.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { prepareClaims, sendClaims } from '../../../../../test/support/many-claims.ts'
import { POSTGRES_ONLY, startPostgres } from '../../../../../test/support/postgres.ts'
import {
  claimAgent,
  countersignd,
  postJson,
  ROOT,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { shellInCheckout } from '../../../../../test/support/shell.ts'
import { allOf, needs } from '../../../../../test/support/tools.ts'
import { insertOwnerRecords } from '../privacy/owner-records.ts'

const OPERATING = new DocPage('docs/operating.md', import.meta.filename)

/** The same for all: links and DIDs are made of it. */
const BASE_URL = 'https://agents.example'

/** Debian keeps the programs of PostgreSQL out of the PATH. */
function paths(): { readonly PATH: string } {
  const tools = globSync('/usr/lib/postgresql/*/bin').toSorted().reverse()
  return { PATH: [...tools, join(ROOT, 'node_modules/.bin'), process.env.PATH].join(':') }
}

/** What callers are told of agents, whichever database says so. */
async function answersOf(service: TestService, dids: readonly string[]): Promise<string[]> {
  const paths = dids.flatMap((did) => [
    `/api/v1/agent/${did}`,
    `/api/agents/${did}`,
    `/api/agents/${did}/card`,
    `/api/agents/${did}/grade`,
  ])
  const answer = async (path: string) => {
    const response = await fetch(service.url + path)
    return `${path} ${response.status} ${await response.text()}`
  }
  return Promise.all(paths.map(answer))
}

test(
  'moving to PostgreSQL, backup under writes and restore work as documented; every response is the same',
  allOf(POSTGRES_ONLY, needs('pg_dump')),
  async (t) => {
    const server = await startPostgres()
    t.after(() => server.stop())
    const DATA_DIR = tempDir(t)
    const inFile = `sqlite:${join(DATA_DIR, 'countersign.db')}`
    const first = await startTestService(t, { DATA_DIR, BASE_URL, DATABASE_URL: inFile })
    const owner = await first.operator.addVerifiedOwner('ada')
    const dids: string[] = []
    for (let i = 0; i < 4; i++) dids.push(await claimAgent(first, owner))
    await insertOwnerRecords(first, owner)
    await setStatus(first, dids[1] as string, 'suspended')
    await setStatus(first, dids[2] as string, 'revoked')
    const atFirst = await answersOf(first, dids)
    await first.stop()

    const dir = tempDir(t)
    const shell = shellInCheckout(dir, { ...first.env, ...paths(), POSTGRES: server.url })
    t.after(() => shell.close())
    const moved = await shell.run(OPERATING.take('Move to PostgreSQL'))
    assert.match(moved, /Every row was read again and compared\./)
    assert.match(moved, /^ok +database: sound/m)
    const DATABASE_URL = `${server.url}/countersign`
    const second = await startTestService(t, { DATA_DIR, BASE_URL, DATABASE_URL })
    assert.deepEqual(await answersOf(second, dids), atFirst)

    const claims = await prepareClaims(second.operator, 60)
    const writing = sendClaims(second.url, claims, 4, () => undefined)
    const [saving = '', restoring = '', beginning = ''] = OPERATING.takeEach('With PostgreSQL')
    await shell.run(saving)
    await writing
    await setStatus(second, dids[0] as string, 'suspended')
    const saved = await shell.run(restoring)
    assert.match(saved, /^ok +database: sound/m)
    await second.stop()
    assert.match(await shell.run(beginning), /A new epoch has begun/)

    const restored = `${server.url}/countersign_restored`
    const third = await startTestService(t, { DATA_DIR, BASE_URL, DATABASE_URL: restored })
    assert.deepEqual(await answersOf(third, dids), atFirst, 'as it was when it was saved')
    const key = newKey()
    await claimAgent(third, owner, key)
    const proof = { publicKey: key.publicKey, challenge: 'new?', signature: key.sign('new?') }
    assert.equal((await postJson(`${third.url}/api/v1/agent/verify`, proof)).status, 200)
  },
)

test(
  'a restored dump has every row of every table',
  allOf(POSTGRES_ONLY, needs('pg_dump')),
  async (t) => {
    const server = await startPostgres()
    t.after(() => server.stop())
    const DATA_DIR = tempDir(t)
    const service = await startTestService(t, { DATA_DIR, DATABASE_URL: `${server.url}/postgres` })
    const owner = await service.operator.addVerifiedOwner('ada')
    await claimAgent(service, owner)
    await insertOwnerRecords(service, owner)
    await service.stop()
    const before = await digestOf(service)
    const shell = shellInCheckout(tempDir(t), { ...paths(), URL: server.url })
    t.after(() => shell.close())
    await shell.run(`pg_dump --format=custom --file=dump "$URL/postgres"
      createdb --maintenance-db="$URL/postgres" other
      pg_restore --exit-on-error --no-owner --dbname="$URL/other" dump`)
    const database = { kind: 'postgres', url: `${server.url}/other` } as const
    const settings = { ...service.settings, database }
    assert.deepEqual(await digestOf({ ...service, settings }), before)
    const doctor = await countersignd({ ...service.env, DATABASE_URL: database.url }, 'doctor')
    assert.match(doctor.stdout, /^ok +database: sound, schema up to date$/m)
  },
)

test(
  'every documented command that names this test was run',
  allOf(POSTGRES_ONLY, needs('pg_dump')),
  () => {
    OPERATING.assertAllTaken()
  },
)
