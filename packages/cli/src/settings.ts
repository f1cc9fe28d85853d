import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { Failure } from './failure.ts'
import { warn } from './output.ts'

const DEFAULT_URL = 'http://localhost:8080'
const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/

interface SharedOptions {
  readonly url?: string
  readonly key?: string
}

/** Gives a command the option `--url`. */
export function takesService(command: Command): Command {
  return command.option('--url <url>', `the service (COUNTERSIGN_URL; default: ${DEFAULT_URL})`)
}

/** Gives a command the option `--key`. */
export function takesKey(command: Command): Command {
  return command.option(
    '--key <file>',
    'the key of the agent (COUNTERSIGN_KEY; default: ~/.countersign/agent.pem)',
  )
}

/**
 * The service that the user means: `--url`, else COUNTERSIGN_URL, else this machine. Warns where others can listen in.
 * @throws Failure USAGE
 */
export function serviceOf(command: Command): URL {
  const given = command.optsWithGlobals<SharedOptions>().url ?? process.env.COUNTERSIGN_URL
  const url = URL.parse(given || DEFAULT_URL)
  if (url === null || !isOrigin(url)) {
    // The value is not in the message: it could hold a password.
    throw new Failure(
      'USAGE',
      'The service is an http or https address without path, query or credentials: --url or COUNTERSIGN_URL.',
    )
  }
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
    warn(command, `${url.origin} is not https: others can read and change what passes.`)
  }
  return url
}

/** Whether a command line has to name this service to reach it. */
export function isDefaultService(service: URL): boolean {
  return service.origin === DEFAULT_URL
}

/** The absolute path of the key file: `--key`, else COUNTERSIGN_KEY, else the one in the home directory. */
export function keyFileOf(command: Command): string {
  const given = command.optsWithGlobals<SharedOptions>().key ?? process.env.COUNTERSIGN_KEY
  return resolve(given || join(homedir(), '.countersign', 'agent.pem'))
}

function isOrigin(url: URL): boolean {
  const bare = url.pathname === '/' && url.search === '' && url.hash === ''
  const anonymous = url.username === '' && url.password === ''
  return ['http:', 'https:'].includes(url.protocol) && bare && anonymous
}
