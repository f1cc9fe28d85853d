import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readSettings } from '../packages/server/src/base/config.ts'
import { TestLog, witnessLogsFile } from '../packages/server/test/log/cosigning/support.ts'
import { newKey } from './support/key.ts'
import { freePort } from './support/ports.ts'
import { startPostgres, startStandby } from './support/postgres.ts'
import { type Prometheus, startPrometheus } from './support/prometheus.ts'
import {
  type Cleanup,
  claimAgent,
  openOperator,
  postJson,
  ROOT,
  startServiceProcess,
} from './support/service.ts'
import { policyFile, startTestWitness } from './support/test-witness.ts'
import { needs } from './support/tools.ts'
import { until } from './support/until.ts'

interface Dashboard {
  readonly __inputs: readonly { readonly name: string; readonly type: string }[]
  readonly panels: readonly {
    readonly id: number
    readonly type: string
    readonly title: string
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; h: number }
    readonly datasource?: { readonly uid: string }
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
  }[]
}

const DASHBOARD: Dashboard = JSON.parse(
  readFileSync(join(ROOT, 'deploy/grafana/countersign.json'), 'utf8'),
)

/** Panels that are empty without problems. */
const EMPTY_WHEN_WELL = ['5xx by route']

/** Alarms that a busy machine may begin without being wrong. */
const ABOUT_SPEED = ['CountersignSlow', 'CountersignLoopDelayed', 'CountersignCommitsSlow']

/** What one node of a cluster tells, with every preview that has metrics of its own: no metric is left out. */
async function startEverything(t: Cleanup) {
  const primary = await startPostgres()
  t.after(() => primary.stop())
  const standby = await startStandby(primary)
  t.after(() => standby.stop())
  const metricsPort = String(await freePort())
  const witness = await startTestWitness(t, 'w')
  const process = await startServiceProcess(t, {
    WORKERS: '2',
    DATABASE_URL: `${primary.url}/postgres`,
    METRICS_PORT: metricsPort,
    PREVIEWS: 'rate-limit',
    WITNESS_LOGS: witnessLogsFile(t, [new TestLog()]),
    WITNESSES: policyFile(t, `${witness.line}quorum w\n`),
  })
  const settings = readSettings(process.env)
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const stop = async () => void (await process.stop())
  const service = { ...process, settings, operator, tick: () => undefined, stop }
  const owner = await operator.addVerifiedOwner()
  const key = newKey()
  const did = await claimAgent(service, owner, key)
  // The other worker hears of it in a moment.
  await until(async () => (await fetch(`${service.url}/api/v1/agent/${did}`)).ok, 30_000)
  // Requests of SCIM are counted from the first one.
  assert.equal((await fetch(`${service.url}/scim/v2/Users`)).status, 401)
  const proof = { publicKey: key.publicKey, challenge: 'you?', signature: key.sign('you?') }
  let claims = 0
  const use = async () => {
    claims += 1
    await claimAgent(service, owner, newKey(), `agent-${claims}`)
    assert.equal((await fetch(`${service.url}/api/v1/agent/${did}`)).status, 200)
    assert.equal((await postJson(`${service.url}/api/v1/agent/verify`, proof)).status, 200)
  }
  return { metricsPort, use }
}

const METRIC = /\b(?:countersign|process|nodejs|http)_[a-z0-9_]+\b/g
/** Labels that Prometheus adds. */
const OF_PROMETHEUS = ['job', 'instance']

test('/metrics has every metric of the dashboard and the alarms, and every label of the dashboard', async (t) => {
  const { metricsPort, use } = await startEverything(t)
  await use()
  const read = async () => await (await fetch(`http://localhost:${metricsPort}/metrics`)).text()
  // The standby and the witness appear once they have been asked.
  await until(async () => unknownLabels(await read()).length === 0, 30_000).catch(() => undefined)
  const text = await read()
  assert.deepEqual(unknownLabels(text), [])
  const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1] as string))
  const alarms = readFileSync(join(ROOT, 'deploy/prometheus/alarms.yml'), 'utf8')
  const used = [...`${alarms}${JSON.stringify(DASHBOARD)}`.matchAll(METRIC)].map(([name]) => name)
  for (const name of new Set(used))
    assert.ok(known.has(name.replace(/_(bucket|sum|count)$/, '')) || known.has(name), name)
})

/** @returns the labels of each query and its legend that none of its metrics has, and values that a label does not have */
function unknownLabels(metrics: string): string[] {
  const samples = metrics.split('\n').map((line) => line.replace(/ [^ ]*$/, ''))
  const targets = DASHBOARD.panels.flatMap(({ targets }) => targets ?? [])
  return targets.flatMap(({ expr, legendFormat }) => {
    const names = [...expr.matchAll(METRIC)].map(([name]) => `${name}{`)
    const ours = samples.filter((line) => names.some((name) => line.startsWith(name))).join('\n')
    const groups = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, by = '']) => by.split(', '))
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
    const matched = [...expr.matchAll(/\b(\w+)(=|!=|=~)"([^"]*)"/g)].map(
      ([, label = '', operator, value]) => [label, operator === '=' ? `="${value}"` : '='],
    )
    return [...[...groups, ...shown].map((label) => [label, '=']), ...matched]
      .filter(([label = '']) => !OF_PROMETHEUS.includes(label))
      .map((each) => each.join(''))
      .filter((text) => !ours.includes(`{${text}`) && !ours.includes(`,${text}`))
      .map((text) => `${text} in ${expr}`)
  })
}

test('every panel has data, and every alarm can be evaluated', needs('prometheus'), async (t) => {
  const { metricsPort, use } = await startEverything(t)
  const prometheus = await startPrometheus(t, metricsPort)
  await until(async () => {
    await use()
    const [seen] = await prometheus.query('sum_over_time(up{job="countersign"}[1m])')
    return Number(seen?.value[1] ?? 0) >= 5
  }, 60_000)

  assert.deepEqual(await emptyPanels(prometheus), EMPTY_WHEN_WELL)

  const alarms = await prometheus.alarms()
  assert.ok(alarms.length > 20)
  for (const { name, health, lastError } of alarms)
    assert.equal(health, 'ok', `${name} ${lastError}`)
  let begun: string[] = []
  // Where all is well none begins, but for the moment that a busy machine does not answer Prometheus in time.
  const isQuiet = async () => {
    const all = (await prometheus.query('ALERTS')).map(({ metric }) => metric.alertname ?? '')
    begun = all.filter((name) => !ABOUT_SPEED.includes(name))
    return begun.length === 0
  }
  await until(isQuiet, 30_000).catch(() => assert.deepEqual(begun, []))
})

/** The titles of panels without data. */
async function emptyPanels(prometheus: Prometheus): Promise<string[]> {
  const empty: string[] = []
  for (const { title, targets = [] } of DASHBOARD.panels) {
    for (const { expr } of targets) {
      const here = expr
        .replaceAll('$__rate_interval', '20s')
        .replaceAll('$job', 'countersign')
        .replaceAll('$instance', '.*')
      if ((await prometheus.query(here)).length === 0) empty.push(title)
    }
  }
  return empty
}

test('the dashboard asks for its Prometheus at import, and no two panels overlap', () => {
  assert.deepEqual(
    DASHBOARD.__inputs.map(({ name, type }) => [name, type]),
    [['DS_PROMETHEUS', 'datasource']],
  )
  const taken = new Map<string, string>()
  for (const { title, type, datasource, gridPos } of DASHBOARD.panels) {
    if (type !== 'row') assert.equal(datasource?.uid, `\${DS_PROMETHEUS}`)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(x < 24, title)
        assert.equal(taken.get(`${x},${y}`), undefined, title)
        taken.set(`${x},${y}`, title)
      }
    }
  }
  const ids = DASHBOARD.panels.map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length)
})
