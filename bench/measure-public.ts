import { checkSameAnswers, checkSameBytes } from './check.ts'
import { type Answer, type Ask, HOST } from './exchange.ts'
import { loadServer } from './load.ts'
import { asksOf, loadOf, type Material, type PublicQuestion, verifyAsk } from './material.ts'
import type { Options } from './options.ts'
import type { ServerProcess } from './process.ts'
import { pump } from './pump.ts'
import { QUESTIONS, type QuestionName } from './questions.ts'
import { type Measurement, measureRounds, type Target, warmUpSeconds } from './rounds.ts'
import { type Bench, type System, startBare, startCountersign, startNaive } from './systems.ts'

/** Measures what anyone may ask: lookups, cards, documents, verification. */
export async function measurePublic(
  bench: Bench,
  options: Options,
  material: Material,
): Promise<Measurement[]> {
  const names = publicNames(options)
  if (names.length === 0) return []
  const until = asksOf(QUESTIONS.lookup, material)[0]
  const ready: Ask = { method: 'GET', path: '/readyz' }
  const countersign = await startCountersign(bench, material.seed, [ready, until])
  const naive = await startNaive(bench, material.seed.database, [until])
  const measurements: Measurement[] = []
  for (const name of names) {
    bench.say(QUESTIONS[name].title)
    const question = { name, ...QUESTIONS[name] }
    measurements.push(await measureOne(bench, options, material, question, { countersign, naive }))
  }
  await countersign.stop()
  await naive.stop()
  return measurements
}

type PublicName = {
  [N in QuestionName]: (typeof QUESTIONS)[N] extends PublicQuestion ? N : never
}[QuestionName]

function publicNames({ parts }: Options): PublicName[] {
  const names = Object.keys(QUESTIONS) as QuestionName[]
  return names.filter(
    (name): name is PublicName =>
      parts.has(name) && ['read', 'verify'].includes(QUESTIONS[name].kind),
  )
}

async function measureOne(
  bench: Bench,
  options: Options,
  material: Material,
  question: PublicQuestion & { readonly name: string },
  { countersign, naive }: Readonly<Record<'countersign' | 'naive', ServerProcess>>,
): Promise<Measurement> {
  const asks = asksOf(question, material)
  const [sample, naiveSample] = await checkSameAnswers(
    countersign.port,
    naive.port,
    asks,
    refusalsOf(question, material),
  )
  const verifies = question.kind === 'verify'
  const bare = await startBare(bench, sample, asks[0], { verifies })
  await checkSameBytes(bare.port, asks[0], sample)
  const targetOf = targetFactory(bench, options, material, question)
  const targets = [
    targetOf('ceiling', bare, sample),
    targetOf('countersign', countersign, sample),
    targetOf('naive', naive, naiveSample),
  ]
  for (const { port } of [bare, countersign, naive]) await warm(port, asks, warmUpSeconds(options))
  const measurement = await measureRounds(bench, question, targets, options.rounds)
  await bare.stop()
  return measurement
}

/** What must not be answered: so that neither service has left out the work. */
function refusalsOf(question: PublicQuestion, material: Material): [Ask, number][] {
  if (question.kind === 'verify') {
    const body = { ...JSON.parse(material.challenges[0]), challenge: 'another one' }
    return [[verifyAsk(JSON.stringify(body)), 401]]
  }
  const { before, after, headers } = question
  return [[{ method: 'GET', path: `${before}${'z'.repeat(24)}${after}`, headers }, 404]]
}

function targetFactory(
  { scope, machine }: Bench,
  { connections, seconds }: Options,
  material: Material,
  question: PublicQuestion,
) {
  return (system: System, { pid, port }: ServerProcess, sample: Answer): Target => ({
    system,
    pids: [pid],
    async load() {
      const load = loadOf(question, material, { port, connections, seconds })
      const loaded = await loadServer(scope, machine, load)
      const bytesEach = loaded.bytes / loaded.requests
      if (Math.abs(bytesEach / sample.bytes - 1) > 0.02) {
        const bytes = `${bytesEach.toFixed(1)} bytes instead of ${sample.bytes}`
        throw new Error(`${question.title}: ${system} answered ${bytes} under load`)
      }
      return loaded
    },
  })
}

async function warm(port: number, asks: readonly Ask[], seconds: number): Promise<void> {
  const requests = asks.map((each) => bytesOf(port, each))
  let at = 0
  const next = () => requests[at++ % requests.length] as Buffer
  const { firstRefusal } = await pump({ port, connections: 16, seconds, next })
  if (firstRefusal !== null) throw new Error(`refused while warming up:\n${firstRefusal}`)
}

function bytesOf(port: number, { method, path, headers, body = '' }: Ask): Buffer {
  const length = body === '' ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
  const fields = Object.entries({ Host: `${HOST}:${port}`, ...headers, ...length })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`)
}
