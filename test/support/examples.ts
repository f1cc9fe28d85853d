import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { libraryPackage } from '../../packages/server/src/base/packages.ts'
import { BASE_ENV, type CommandResult, run } from './run.ts'
import { type Cleanup, ROOT, type TestService, tempDir } from './service.ts'
import { until } from './until.ts'

/** Far longer than npm takes on a busy machine. */
export const EXAMPLE = { timeout: 600_000, ...(await registryOptions()) }

/** Examples take their frameworks from npm's registry; everything after the installation runs without a network. */
async function registryOptions(): Promise<{ skip: string | false }> {
  if (process.env.TEST_TIER === 'quick') return { skip: 'part of npm run test:all' }
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
  const signal = AbortSignal.timeout(20_000)
  const isReached = await fetch(`${registry.replace(/\/$/, '')}/zod`, {
    method: 'HEAD',
    signal,
  }).then(
    () => true,
    () => false,
  )
  return { skip: isReached ? false : `npm's registry is not reached: ${registry}` }
}

const LOOPBACK_ONLY = join(ROOT, 'test/support/loopback-only.mjs')

/** What the programs of examples get: the settings that their READMEs name, no telemetry, no network. */
const ENV: Readonly<Record<string, string>> = {
  ...BASE_ENV,
  NODE_OPTIONS: `--import=${LOOPBACK_ONLY}`,
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  OPENAI_API_KEY: 'none',
  NEXT_TELEMETRY_DISABLED: '1',
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_LOG_PATH: '/dev/null',
  CI: '1',
}

/** An example as the service serves it, with its dependencies and the packages of the service. */
export interface Example {
  readonly dir: string
  /** Of all its programs. */
  readonly env: Env
  /** Runs a program of the example to its end. @param as the agent whose key file it uses */
  run(command: string, args: readonly string[], env: Env, as?: string): Promise<CommandResult>
  /** Starts a program and waits until the origin answers. */
  start(command: string, args: readonly string[], env: Env & { ORIGIN: string }): Promise<Program>
}

type Env = Readonly<Record<string, string>>

interface Program {
  /** What it has written so far. */
  output(): string
  /** Ends it, with the programs that it has started. */
  stop(): Promise<void>
}

/** @param libraries which packages of the service the README installs */
export async function installExample(
  t: Cleanup,
  name: string,
  service: TestService,
  libraries: readonly ('sdk' | 'gateway')[],
): Promise<Example> {
  const home = tempDir(t)
  const dir = join(home, name)
  await downloadExample(home, name, service)
  if (libraries.length > 0) {
    const tarballs = libraries.map((each) => libraryPackage(each, service.url))
    const npm = ['install', '--no-save', '--ignore-scripts', '--prefer-offline', ...tarballs]
    // npm's settings and cache are the user's, as where the example is followed.
    const { HOME = home, NODE_EXTRA_CA_CERTS = '' } = process.env
    const env = { HOME, NODE_EXTRA_CA_CERTS }
    const { code, stdout, stderr } = await run('npm', npm, env, '', {}, dir)
    assert.equal(code, 0, `${stdout}\n${stderr}`)
  }
  // The download has the address of the service.
  const env = { ...ENV, HOME: home }
  return {
    dir,
    env,
    run(command, args, own, as = 'agent') {
      // agent.pem is in the current directory.
      const cwd = join(dir, as)
      mkdirSync(cwd, { recursive: true })
      return run(command, args, { ...env, ...own }, '', {}, cwd)
    },
    async start(command, args, own) {
      const child = spawn(command, args, {
        cwd: dir,
        env: { ...env, ...own },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => (output += chunk))
      t.after(() => stop(child))
      await until(async () => {
        assert.equal(child.exitCode, null, output)
        return fetch(own.ORIGIN).then(
          () => true,
          () => false,
        )
      }, 300_000)
      return { output: () => output, stop: () => stop(child) }
    },
  }
}

/** Downloads an example of the documentation. @param home where its folder is created */
export async function downloadExample(
  home: string,
  name: string,
  { url }: Pick<TestService, 'url'>,
): Promise<void> {
  const response = await fetch(`${url}/docs/examples/${name}.tgz`)
  assert.equal(response.status, 200, name)
  const file = join(home, `${name}.tgz`)
  writeFileSync(file, await response.bytes())
  execFileSync('tar', ['-xzf', file, '-C', home])
}

/** Ends a program with the programs that it has started. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  process.kill(-child.pid, 'SIGKILL')
  await exited
}

/**
 * A model behind OpenAI's API (chat completions) that calls the first tool once, and then repeats its result.
 * @returns the base URL
 */
export async function startModel(t: Cleanup, shop: string): Promise<string> {
  const server = createServer(async (request, response) => {
    const { messages, tools, stream } = (await json(request)) as ChatRequest
    assert.ok(!stream, 'the examples do not stream')
    const last = messages.at(-1)
    const message =
      last?.role === 'tool'
        ? { role: 'assistant', content: `The shop answered: ${textOf(last.content)}` }
        : { role: 'assistant', content: null, tool_calls: [orderAt(shop, tools[0]?.function.name)] }
    const finish_reason = last?.role === 'tool' ? 'stop' : 'tool_calls'
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        id: `chatcmpl-${randomUUID()}`,
        object: 'chat.completion',
        created: 1,
        model: 'fake',
        choices: [{ index: 0, message, finish_reason, logprobs: null }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

interface ChatRequest {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly tools: readonly { readonly function: { readonly name: string } }[]
  readonly stream?: boolean
}

function orderAt(shop: string, name = '') {
  const headers = { 'content-type': 'application/json' }
  const order = { url: `${shop}/orders`, method: 'POST', headers, body: '{"item":"lamp"}' }
  const call = { name, arguments: JSON.stringify(order) }
  return { id: 'call_1', type: 'function', function: call }
}

/** The text of a message, which may come in parts. */
function textOf(content: unknown): string {
  return Array.isArray(content) ? content.map(({ text }) => text).join('') : String(content)
}

/** Writes what a program printed to the test's output. */
export function show(name: string, output: string): void {
  process.stdout.write(`--- ${name}\n${output.trim()}\n`)
}

/** Downloads the wheel that the service serves. Python imports packages from it. @returns its path */
export async function downloadWheel(t: Cleanup, { url }: TestService): Promise<string> {
  const index = (await (await fetch(`${url}/packages/index.json`)).json()) as unknown
  const [name] = /countersign-[\w.]+-py3-none-any\.whl/.exec(JSON.stringify(index)) ?? []
  assert.ok(name, 'the service serves a wheel')
  const file = join(tempDir(t), name)
  writeFileSync(file, await (await fetch(`${url}/packages/${name}`)).bytes())
  return file
}
