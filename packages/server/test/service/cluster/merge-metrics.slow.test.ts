import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeMetrics } from '../../../src/service/cluster/merge-metrics.ts'
import { startWithWorkers, untilAllAnswer } from './worker-service.ts'

test('metrics of several processes are merged by name, with the label `worker` on each sample', () => {
  const one = `# HELP up Whether it is up
# TYPE up gauge
up 1

# HELP calls Calls
# TYPE calls counter
calls{path="/a b{x}",by="\\"me\\""} 1e+3 1395066363000
calls{} 2
`
  const other = `# HELP calls Calls
# TYPE calls counter
calls{path="/"} NaN
# HELP own Its own
# TYPE own gauge
own -Inf
`
  assert.equal(
    mergeMetrics(
      new Map([
        ['1', one],
        ['2', other],
      ]),
    ),
    `# HELP up Whether it is up
# TYPE up gauge
up{worker="1"} 1

# HELP calls Calls
# TYPE calls counter
calls{worker="1",path="/a b{x}",by="\\"me\\""} 1e+3 1395066363000
calls{worker="1"} 2
calls{worker="2",path="/"} NaN

# HELP own Its own
# TYPE own gauge
own{worker="2"} -Inf
`,
  )
})

test('the metrics of a service with workers are one document: each name once, each sample with its worker', async (t) => {
  const service = await startWithWorkers(t, 2)
  await untilAllAnswer(service, 2)
  const [first, second] = await Promise.all([service.metrics(), service.metrics()])
  for (const text of [first, second] as [string, string]) {
    const seen = new Set<string>()
    let family = ''
    for (const line of text.split('\n')) {
      const [, what, name] = /^# (HELP|TYPE) (\w+) /.exec(line) ?? []
      if (name !== undefined) {
        assert.ok(!seen.has(`${what} ${name}`), `${line}: a second time`)
        seen.add(`${what} ${name}`)
        family = name
      } else if (line !== '') {
        assert.match(
          line,
          /^\w+\{worker="(primary|1|2)"(,\w+="(\\.|[^"\\])*")*\} (Na[Nn]|[+-]?[\d.e+-]+)$/,
        )
        assert.ok(line.startsWith(family), `${line}: not below what is said of it`)
      }
    }
    assert.ok(seen.size > 50)
    for (const worker of ['1', '2'])
      assert.match(text, new RegExp(`countersign_agents_in_memory\\{worker="${worker}"\\} 0`))
    assert.match(text, /countersign_workers_ready\{worker="primary"\} 2/)
  }
})
