import { join, resolve } from 'node:path'
import { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import { EXIT } from '@countersign/protocol'
import { type Names, Registry, type RegistryOptions, type Signer } from '@countersign/sdk'
import { keyFromFile } from '@countersign/sdk/node'
import { codeOf, describeError, Failure, printable } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import type { Io } from './io.ts'
import { serviceOf } from './npx-package.ts'
import { jsonText } from './output.ts'
import { USER_AGENT } from './version.ts'

const DEFAULT_URL = 'http://localhost:8080'
const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/
const TIMEOUT_MS = 10_000

interface SharedOptions {
  readonly url?: string
  /** Of `enrol`, and of `sign-request`, whose `--url` is that of a request. */
  readonly service?: string
  readonly key?: string
  readonly json?: boolean
}

/** Adds the option `--url` to a command. */
export function takesService(command: Command): Command {
  return command.option(
    '--url <url>',
    `the service (COUNTERSIGN_URL; default: the service that this package was downloaded from, else ${DEFAULT_URL})`,
  )
}

/** Adds the option `--key` to a command. */
export function takesKey(command: Command): Command {
  return command.option(
    '--key <file>',
    'the key file of the agent (COUNTERSIGN_KEY; default: ~/.countersign/agent.pem)',
  )
}

/** One run of one command: its shared options, its output, the service and the key of the agent. */
export class Invocation {
  readonly io: Io
  /** Set by a command that fails after it has printed its result. */
  exitCode: number = EXIT.ok
  #service: URL | undefined
  #names: Names | undefined
  #options: () => SharedOptions

  /** @param options the options of the command and of the program; read when they are needed */
  constructor(io: Io, options: () => SharedOptions) {
    this.io = io
    this.#options = options
  }

  /** Whether output is JSON. */
  get json(): boolean {
    return this.#options().json === true
  }

  /** Prints a result to standard output: with `--json` as one line of JSON, else as text for people. */
  print(result: unknown, text: string): void {
    this.io.stdout.write(this.json ? `${jsonText(result)}\n` : `${text}\n`)
  }

  /** Writes a warning to standard error. */
  warn(message: string): void {
    const line = this.json
      ? jsonText({ warning: { message } })
      : `countersign: warning: ${printable(message)}`
    this.io.stderr.write(`${line}\n`)
  }

  /** Writes a log line of a long-running command to standard error. */
  log(message: string): void {
    const line = this.json ? jsonText({ note: { message } }) : `countersign: ${printable(message)}`
    this.io.stderr.write(`${line}\n`)
  }

  /** A heading, bold if standard output shows colours (NO_COLOR and FORCE_COLOR are respected). */
  heading(text: string): string {
    return this.#style(['bold'], text)
  }

  /** A result that people must not overlook: green if it is good, else red. */
  verdict(good: boolean, text: string): string {
    return this.#style(['bold', good ? 'green' : 'red'], text)
  }

  /** How its user runs this command, for lines that say what to run next. */
  get command(): string {
    const { npxPackage } = this.io
    return npxPackage === null ? 'countersign' : `npx -y ${npxPackage}`
  }

  /**
   * The address of the service: `--service`, else `--url`, else COUNTERSIGN_URL, else the one that npx has this command from, else
   * this machine. Warns once if it is plain http.
   * @throws Failure USAGE
   */
  get service(): URL {
    const { service, url } = this.#options()
    this.#service ??= this.#readService(service ?? url)
    return this.#service
  }

  /** For a command whose `--url` is that of a request and `--service` the service. @returns `--url` */
  requestUrl(): string | undefined {
    const { url, service } = this.#options()
    this.#service = this.#readService(service)
    return url
  }

  /**
   * Parses the address of a service. Warns if it is plain http.
   * @param name of it, for the message
   * @throws Failure USAGE
   */
  addressOf(text: string, name: string): URL {
    const url = URL.parse(text)
    if (url === null || !isOrigin(url)) {
      // The message does not repeat the value: it could contain a password.
      throw new Failure(
        'USAGE',
        `${name} must be http or https, without path, query or credentials.`,
      )
    }
    if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
      this.warn(
        `${url.origin} is not https. Others on the network can read and change the traffic.`,
      )
    }
    return url
  }

  /** Whether a command line must name the service to reach it. */
  get isDefaultService(): boolean {
    return this.service.origin === this.#defaultService
  }

  /** `fetch` with the User-Agent of this command. */
  get fetch(): typeof globalThis.fetch {
    const { fetch } = this.io
    return (input, init) => {
      const headers = { ...init?.headers, 'user-agent': USER_AGENT }
      return fetch(input, { ...init, headers })
    }
  }

  /**
   * A client of the service. It keeps what the service sends, which `--json` prints.
   * @param naming of the deployment, if it is known
   */
  registry(naming: RegistryOptions['naming'] = 'any'): Registry {
    return new Registry(this.service, { ...this.#registryOptions, naming })
  }

  /** The same with the names that the service itself reports, for an `Agent` that signs requests. */
  async registryWithNames(): Promise<Registry> {
    this.#names ??= (await Registry.discover(this.service, this.#registryOptions)).naming
    return this.registry(this.#names)
  }

  /** An absolute path. */
  path(text: string): string {
    return resolve(this.io.cwd, text)
  }

  /** The absolute path of the key file: `--key`, else COUNTERSIGN_KEY, else the one in the home directory. */
  get keyFile(): string {
    const given = this.#options().key ?? this.io.env.COUNTERSIGN_KEY
    return this.path(given || join(this.io.home, '.countersign', 'agent.pem'))
  }

  /** Warns that other users of the machine can read a key file. */
  readonly onExposed = (path: string): void => {
    this.warn(`other users of this machine can read ${path}. Run: chmod 600 ${path}`)
  }

  /**
   * The agent's own key. Warns if other users of the machine can read it.
   * @throws Failure NO_KEY; CountersignError UNUSABLE_KEY
   */
  async ownKey({ create = false } = {}): Promise<Signer> {
    try {
      return await keyFromFile(this.keyFile, { create, onExposed: this.onExposed })
    } catch (cause) {
      if (codeOf(cause) !== 'NO_KEY') throw cause
      const message = `There is no key at ${this.keyFile}. Create one with: ${this.command} keygen`
      throw new Failure('NO_KEY', message, { cause })
    }
  }

  get #registryOptions(): RegistryOptions {
    return {
      keepRaw: true,
      cacheEntries: 0,
      retries: 0,
      timeoutMs: TIMEOUT_MS,
      attemptTimeoutMs: TIMEOUT_MS,
      fetch: this.fetch,
    }
  }

  get #defaultService(): string {
    return serviceOf(this.io.npxPackage) ?? DEFAULT_URL
  }

  #readService(given: string | undefined): URL {
    const chosen = given ?? this.io.env.COUNTERSIGN_URL
    const name = 'The address of the service (--url or COUNTERSIGN_URL)'
    return this.addressOf(chosen || this.#defaultService, name)
  }

  #style(format: Parameters<typeof styleText>[0], text: string): string {
    const { stdout, env } = this.io
    const wanted = env.FORCE_COLOR !== undefined || stdout.isTTY === true
    const isColoured = wanted && WriteStream.prototype.getColorDepth(env) > 2
    return isColoured
      ? styleText(format, printable(text), { validateStream: false })
      : printable(text)
  }
}

/** Writes why a command failed to standard error. */
export function printError(io: Io, json: boolean, error: unknown): void {
  const { code, message, requestId } = describeError(error)
  const suffix = requestId === undefined ? '' : ` (${requestId})`
  const line = json
    ? jsonText({ error: { code, message, requestId } })
    : `countersign: ${printable(message + suffix)}`
  io.stderr.write(`${line}\n`)
}

function isOrigin(url: URL): boolean {
  const bare = url.pathname === '/' && url.search === '' && url.hash === ''
  const anonymous = url.username === '' && url.password === ''
  return ['http:', 'https:'].includes(url.protocol) && bare && anonymous
}
