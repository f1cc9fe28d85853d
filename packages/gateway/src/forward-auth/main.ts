import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { PolicyError } from '../policy/policy-error.ts'
import { type Config, readConfig } from './config.ts'
import { ConfigReloader } from './config-reloader.ts'
import { type Log, openLog } from './log.ts'
import { type OpenNonceStore, openNonceStore } from './open-nonce-store.ts'
import { ForwardAuth } from './server.ts'

const HELP = `Answers authorization requests of proxies: nginx, Caddy, Traefik, HAProxy, Envoy.

  countersign-gateway --config gateway.json

  --config FILE   the service, the policy, where to listen (packages/gateway/README.md)
  --check         reads the file, says what is wrong with it, and ends
  --help          this text

The file is read again when it changes and at SIGHUP; one that cannot be read leaves the policy as it was.
SIGTERM ends it once every request is answered. Logs go to standard output, a line of JSON each.

Exit codes: 0 stopped, 1 cannot start, 2 wrong usage or configuration`

/**
 * Runs `countersign-gateway` until it is stopped.
 * @param argv the arguments after the command's name
 * @returns the exit code
 */
export async function runGateway(argv: readonly string[]): Promise<number> {
  const options = optionsIn(argv)
  if (options === null) return 2
  if (options.help) {
    console.log(HELP)
    return 0
  }
  const file = options.config
  if (file === undefined) return usage('Give the configuration file with --config.')
  const read = readFile(file)
  if (read === null) return 2
  if (options.check) {
    console.log(`${file} is valid.`)
    return 0
  }
  return serve(file, read.text, read.config)
}

async function serve(file: string, text: string, config: Config): Promise<number> {
  const log = openLog(config.logLevel, (line) => process.stdout.write(line))
  let nonces: OpenNonceStore | null = null
  try {
    if (config.nonces !== '') nonces = await openNonceStore(config.nonces, log)
    // Challenges that were used are shared in the same Redis.
    const shared =
      nonces === null
        ? config
        : readConfig(text, process.env, { ...config, usedChallenges: nonces.store })
    await serveUntilStopped(new ForwardAuth(shared, log, nonces?.store), file, text, log)
    return 0
  } catch (error) {
    console.error(`countersign-gateway: ${(error as Error).message}`)
    return 1
  } finally {
    nonces?.close()
  }
}

async function serveUntilStopped(
  server: ForwardAuth,
  file: string,
  text: string,
  log: Log,
): Promise<void> {
  const reloader = new ConfigReloader(file, text, server, log)
  const reload = () => reloader.check(true)
  // Register before listening: without a handler, a signal would end the process at once.
  process.on('SIGHUP', reload)
  const stopSignal = new Promise<string>((resolve) => {
    for (const each of ['SIGTERM', 'SIGINT'] as const) process.once(each, resolve)
  })
  try {
    const port = await server.listen()
    const { host, policy, registry } = server.config
    log('info', 'listening', { host, port, mode: policy.mode, service: registry.service })
    log('info', 'ending', { signal: await stopSignal })
    await server.stop()
  } finally {
    reloader.stop()
    process.off('SIGHUP', reload)
  }
}

function readFile(file: string): { text: string; config: Config } | null {
  try {
    const text = readFileSync(file, 'utf8')
    return { text, config: readConfig(text, process.env) }
  } catch (error) {
    const mistakes = error instanceof PolicyError ? error.mistakes : [(error as Error).message]
    const list = mistakes.map((each) => `- ${each}`).join('\n')
    console.error(`countersign-gateway: ${file}:\n${list}`)
    return null
  }
}

function optionsIn(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        config: { type: 'string' },
        check: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    usage((error as Error).message)
    return null
  }
}

function usage(mistake: string): 2 {
  console.error(`countersign-gateway: ${mistake}\n\n${HELP}`)
  return 2
}
