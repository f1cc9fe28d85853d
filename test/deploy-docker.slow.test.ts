import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { BlockList } from 'node:net'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readSettings } from '../packages/server/src/base/config.ts'
import { freePort } from './support/ports.ts'
import { ROOT, run, tempDir } from './support/service.ts'
import { needs } from './support/tools.ts'
import { until } from './support/until.ts'

// No image is built here: that takes a Docker daemon. What the Dockerfile says is done by hand, as far as it goes.

const DOCKERFILE = readFileSync(join(ROOT, 'deploy/docker/Dockerfile'), 'utf8')
const COMPOSE = readFileSync(join(ROOT, 'deploy/docker/compose.yaml'), 'utf8')
const EXAMPLE = readFileSync(join(ROOT, 'deploy/docker/countersign.env.example'), 'utf8')
const [, BUILD = '', RUN = ''] = DOCKERFILE.split(/^FROM .*$/m)
const copiesIn = (stage: string) =>
  [...stage.matchAll(/^COPY --from=build \/app\/(\S+) \.\/(\S*)$/gm)].map(
    ([, from = '', to = '']) => ({ from, to: to === '' ? from : to }),
  )
const COPIED = copiesIn(RUN)

test('the image uses the project’s Node version and two stages', () => {
  const images = [...DOCKERFILE.matchAll(/^FROM (\S+)(?: AS (\w+))?$/gm)]
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  assert.deepEqual(
    images.map(([, image, stage]) => [image, stage]),
    [
      [`node:${devDependencies.node}-bookworm-slim`, 'build'],
      [`node:${devDependencies.node}-bookworm-slim`, undefined],
    ],
  )
  assert.deepEqual(
    [...BUILD.matchAll(/^RUN (.*)$/gm)].map(([, command]) => command),
    ['npm ci', 'npm run build', 'npm ci --omit=dev --workspace packages/server'],
  )
  assert.match(RUN, /^USER node$/m)
  assert.equal(COPIED.length, [...RUN.matchAll(/^COPY /gm)].length)
})

test('the image of the gateway has what its commands need', async (t) => {
  const text = readFileSync(join(ROOT, 'deploy/docker/gateway.Dockerfile'), 'utf8')
  const [, build = '', final = ''] = text.split(/^FROM .*$/m)
  const service = [...DOCKERFILE.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
  assert.deepEqual(
    [...text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image),
    service,
  )
  const app = assemble(t, copiesIn(final))
  const installed = [...build.matchAll(/--workspace (\S+)/g)].map(([, name]) => name as string)
  const linked = [...final.matchAll(/ln -s \/app\/(\S+) \/usr\/local\/bin\/(\S+)/g)]
  assert.deepEqual(
    linked.map(([, , command]) => command),
    ['countersign-gateway', 'countersign'],
  )
  for (const [, path = '', command = ''] of linked) {
    assert.ok(
      installed.some((name) => path.startsWith(`${name}/`)),
      command,
    )
    const { code, stderr } = await run(process.execPath, [join(app, path), '--help'])
    assert.equal(code, 0, stderr)
  }
  const [command] = JSON.parse(/^CMD (\[.*\])$/m.exec(final)?.[1] ?? '[]') as string[]
  assert.equal(command, 'countersign-gateway')
})

test('the files in the image serve everything, and the health check passes once the service is ready', async (t) => {
  const app = assemble(t)
  const env = { ...environment(), DATA_DIR: tempDir(t), HOST: '127.0.0.1' }
  const ports = { PORT: String(await freePort('127.0.0.1')), METRICS_PORT: 'off' }
  const given = { PATH: dirname(process.execPath), ...env, ...ports, DRAIN_SECONDS: '0' }
  const [, command] = JSON.parse(/^CMD (\[.*\])$/m.exec(RUN)?.[1] ?? '[]') as string[]
  const linked = /ln -s \/app\/(\S+) \/usr\/local\/bin\/countersignd/.exec(RUN)?.[1] as string
  const healthy = async () => (await run(...healthCheck(), given)).code === 0
  assert.equal(await healthy(), false)
  const child = spawn(join(app, linked), [command as string], { env: given, stdio: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  t.after(() => {
    child.kill('SIGKILL')
    return exited
  })
  await until(async () => child.exitCode !== null || (await healthy()), 60_000)
  assert.equal(child.exitCode, null, output)
  const url = `http://127.0.0.1:${given.PORT}`
  for (const path of [
    '/',
    '/check',
    '/docs/operating',
    '/dashboard/',
    '/openapi.json',
    '/skill.md',
  ])
    assert.equal((await fetch(url + path)).status, 200, path)
  child.kill('SIGTERM')
  assert.equal(await exited, 0, output)
})

/** Copies what the Dockerfile copies, with the packages that an installation without those for development has. */
function assemble(t: TestContext, copied = COPIED): string {
  const app = tempDir(t)
  for (const { from, to } of copied) {
    if (from === 'node_modules') continue
    assert.ok(existsSync(join(ROOT, from)), from)
    cpSync(join(ROOT, from), join(app, to), {
      recursive: true,
      filter: (path) => !path.includes('/node_modules') && !path.includes('/test/'),
    })
  }
  assert.ok(copied.some(({ from }) => from === 'node_modules'))
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; link?: boolean; resolved?: string }>
  }
  for (const [path, { dev, link, resolved }] of Object.entries(packages)) {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1]
    if (name === undefined || dev === true) continue
    const target = link === true ? join(app, resolved as string) : join(ROOT, path)
    if (!existsSync(target)) continue
    mkdirSync(dirname(join(app, path)), { recursive: true })
    symlinkSync(target, join(app, path))
  }
  assert.ok(!readdirSync(join(app, 'node_modules')).includes('vite'))
  return app
}

function environment(): Record<string, string> {
  const [, lines = ''] = /^ENV ((?:.*\\\n)*.*)$/m.exec(RUN) ?? []
  return Object.fromEntries(
    [...lines.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
  )
}

function healthCheck(): [string, string[]] {
  const [, json = '[]'] = /HEALTHCHECK (?:.*\\\n)* *CMD (\[.*\])$/m.exec(RUN) ?? []
  const [program, ...args] = JSON.parse(json) as [string, ...string[]]
  return [program, args]
}

test('the example settings for Compose match its file, and the service waits for PostgreSQL', async () => {
  const text = COMPOSE
  assert.match(text, /condition: service_healthy/)
  const settings = Object.fromEntries(
    [...EXAMPLE.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  )
  const { database, baseUrl } = readSettings(settings)
  assert.equal(baseUrl.origin, 'https://agents.example.com')
  assert.ok(database.kind === 'postgres')
  const url = new URL(database.url)
  assert.equal(url.password, settings.POSTGRES_PASSWORD)
  assert.match(text, new RegExp(`^  ${url.hostname}:$`, 'm'))
  assert.match(text, new RegExp(`POSTGRES_DB: ${url.pathname.slice(1)}\n`))
  assert.match(text, new RegExp(`POSTGRES_USER: ${url.username}\n`))
})

test('Compose has its own network, and only that one is a trusted proxy', () => {
  const subnets = [...COMPOSE.matchAll(/^ +- subnet: (\S+)$/gm)].map(([, subnet]) => subnet)
  const trusted = readSettings({
    TRUSTED_PROXIES: /^TRUSTED_PROXIES=(.*)$/m.exec(EXAMPLE)?.[1],
  }).trustedProxies
  assert.equal(subnets.length, 1)
  assert.deepEqual(trusted, subnets)
  // What Docker gives to networks that say nothing may be given away already (moby, libnetwork/ipamutils).
  const pools = new BlockList()
  pools.addSubnet('172.16.0.0', 12)
  pools.addSubnet('192.168.0.0', 16)
  const [address = '', bits] = (subnets[0] as string).split('/')
  assert.ok(Number(bits) >= 16)
  assert.equal(pools.check(address), false)
})

test('the file with the password is in no commit or image', needs('git'), async (t) => {
  const dir = tempDir(t)
  cpSync(join(ROOT, '.gitignore'), join(dir, '.gitignore'))
  assert.equal((await run('git', ['init', '--quiet', dir])).code, 0)
  const isIgnored = async (file: string) =>
    (await run('git', ['-C', dir, 'check-ignore', '--quiet', file])).code === 0
  assert.equal(await isIgnored('deploy/docker/countersign.env'), true)
  assert.equal(await isIgnored('deploy/docker/countersign.env.example'), false)
  assert.equal(await isIgnored('deploy/systemd/countersign.env'), false, 'an example as well')
  const left = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n')
  assert.ok(left.includes('deploy/docker/countersign.env'))
  for (const file of COMPOSE.matchAll(/env_file: (\S+)/g)) assert.equal(file[1], 'countersign.env')
})
