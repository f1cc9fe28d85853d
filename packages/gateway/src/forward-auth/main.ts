import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { PolicyError } from '../policy/policy-error.ts'
import { type Config, readConfig } from './config.ts'
import { openLog } from './log.ts'
import { ForwardAuth } from './server.ts'
import { Watch } from './watch.ts'

const HELP = `Answers proxies that ask whether to let an agent in: nginx, Caddy, Traefik, HAProxy, Envoy.

  countersign-gateway --config gateway.json

  --config FILE   the service, the policy, where to listen (packages/gateway/README.md)
  --check         reads the file, says what is wrong with it, and ends
  --help          this text

The file is read again when it changes and at SIGHUP; one that cannot be read leaves the policy as it was.
SIGTERM ends it once every request is answered. Logs go to standard output, a line of JSON each.

Exit codes: 0 ended as asked, 1 cannot listen, 2 wrong usage or file`

/**
 * Runs `countersign-gateway`.
 * @param argv the arguments after the command's own name
 * @returns the exit code, once it has ended
 */
export async function runGateway(argv: readonly string[]): Promise<number> {
  const options = optionsIn(argv)
  if (options === null) return 2
  if (options.help) {
    console.log(HELP)
    return 0
  }
  const file = options.config
  if (file === undefined) return usage('--config says which file to read')
  const read = readFile(file)
  if (read === null) return 2
  if (options.check) {
    console.log(`${file} is good.`)
    return 0
  }
  return serve(file, read.text, read.config)
}

async function serve(file: string, text: string, config: Config): Promise<number> {
  const log = openLog(config.logLevel, (line) => process.stdout.write(line))
  const server = new ForwardAuth(config, log)
  const watch = new Watch(file, text, server, log)
  const reload = () => watch.look(true)
  // Before anybody can know that it runs: a signal that nobody listens for would end it at once.
  process.on('SIGHUP', reload)
  const asked = new Promise<string>((resolve) => {
    for (const each of ['SIGTERM', 'SIGINT'] as const) process.once(each, resolve)
  })
  try {
    const port = await server.listen()
    const { host, policy, registry } = config
    log('info', 'listening', { host, port, mode: policy.mode, service: registry.service })
    log('info', 'ending', { signal: await asked })
    await server.stop()
    return 0
  } catch (error) {
    console.error(`countersign-gateway: ${(error as Error).message}`)
    return 1
  } finally {
    watch.end()
    process.off('SIGHUP', reload)
  }
}

function readFile(file: string): { text: string; config: Config } | null {
  try {
    const text = readFileSync(file, 'utf8')
    return { text, config: readConfig(text, process.env) }
  } catch (error) {
    const words = error instanceof PolicyError ? error.mistakes : [(error as Error).message]
    console.error(`countersign-gateway: ${file}:\n${words.map((each) => `- ${each}`).join('\n')}`)
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
