import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { fileOf } from '../../../../test/support/raw-database.ts'
import { misspeltSettings, readSettings, SettingsError } from '../../src/base/config.ts'
import { RATE_LIMIT_NAMES } from '../../src/http/limits/rate-limits.ts'

test('the defaults serve http://localhost:8080 with data in ./data', () => {
  const settings = readSettings({})
  assert.equal(settings.baseUrl.href, 'http://localhost:8080/')
  assert.equal(settings.host, 'localhost')
  assert.equal(settings.port, 8080)
  assert.match(settings.dataDir, /\/data$/)
  assert.equal(settings.database.kind, 'sqlite')
  assert.match(fileOf(settings), /\/data\/countersign\.db$/)
  assert.equal(settings.naming.shortName, 'svc')
  assert.equal(settings.naming.idHeader, 'ServiceID')
  assert.equal(settings.serviceName, 'Countersign')
})

test('the default base URL uses the port, and the default database is in the data directory', () => {
  assert.equal(readSettings({ PORT: '9000' }).baseUrl.origin, 'http://localhost:9000')
  assert.equal(fileOf(readSettings({ DATA_DIR: '/srv/x' })), '/srv/x/countersign.db')
  assert.equal(fileOf(readSettings({ DATABASE_URL: 'sqlite:/srv/y.db' })), '/srv/y.db')
})

test('DATABASE_URL is a SQLite file or a PostgreSQL URL with the name of a database', () => {
  for (const url of [
    'postgres://u:p@db.example:5432/x',
    'postgresql://db.example/x?sslmode=require',
    'postgres://u:p@one.example:5432,two.example,[::1]:5433/x',
  ]) {
    assert.deepEqual(readSettings({ DATABASE_URL: url }).database, { kind: 'postgres', url })
  }
  for (const bad of [
    'postgres://db.example',
    'postgres://db.example/',
    'postgres:x',
    'postgres://one.example,/x',
    'postgres://one.example:x,two.example/x',
    'sqlite:',
  ]) {
    const [mistake, ...more] = rejection({ DATABASE_URL: bad }).mistakes
    assert.match(mistake ?? '', /^DATABASE_URL must be sqlite:.* or postgres:/, bad)
    assert.deepEqual(more, [])
  }
})

test('REPLICA_URL accepts one or several hosts, and only with PostgreSQL', () => {
  const DATABASE_URL = 'postgres://u:p@db.example/x'
  assert.equal(readSettings({ DATABASE_URL }).replicaUrl, null)
  const REPLICA_URL = 'postgres://u:p@one.example,two.example:5433/x'
  assert.equal(readSettings({ DATABASE_URL, REPLICA_URL }).replicaUrl, REPLICA_URL)
  assert.deepEqual(rejection({ REPLICA_URL }).mistakes, [
    'REPLICA_URL must be empty unless DATABASE_URL is a PostgreSQL',
  ])
})

test('all mistakes are listed together, without any value', () => {
  const mistakes: Record<string, string> = {
    HOST: 'two words',
    PORT: '65536',
    WORKERS: '0',
    BASE_URL: 'https://user:hunter2@example.com/path',
    DATABASE_URL: 'mysql://u:hunter2@h/db',
    SHORT_NAME: 'Not-A-Word',
    ID_HEADER: 'bad header',
    SERVICE_NAME: 'line\nbreak',
    TRUSTED_PROXIES: '10.0.0.0/8, 300.1.1.1',
    PREVIEWS: 'http-signatures',
    RATE_LIMITS: 'mint=5/w',
    REDIS_URL: 'http://hunter2@cache',
    LOG_LEVEL: 'loud',
    METRICS_PORT: '-1',
    KEY_REUSE: 'maybe',
    READ_MODEL_AGENTS: '0',
    MAX_STALENESS: '0',
    REPLICA_URL: 'sqlite:replica',
    DRAIN_SECONDS: '1.5',
    DNS_RESOLVERS: 'dns.example',
    LOOPBACK_HOSTS: 'agents.example.com',
  }
  const error = rejection(mistakes)
  assert.equal(error.mistakes.length, Object.keys(mistakes).length)
  for (const [name, value] of Object.entries(mistakes)) {
    assert.ok(
      error.mistakes.some((each) => each.startsWith(`${name} must be `)),
      name,
    )
    assert.ok(value.length < 4 || !error.message.includes(value), `${name}: the value is printed`)
  }
  assert.ok(!error.message.includes('hunter2'))
})

test('ID_HEADER is no header that servers, proxies or signatures use', () => {
  for (const name of [
    ...['Host', 'authorization', 'Cookie', 'Content-Type', 'Connection', 'X-Forwarded-For'],
    ...['Signature', 'signature-input', 'Accept', 'Sec-Fetch-Site', 'Proxy-Authorization', 'TE'],
  ]) {
    assert.match(rejection({ ID_HEADER: name }).message, /ID_HEADER must be .* no other use/, name)
  }
  for (const name of ['AcmeID', 'X-Agent', 'Hosting']) {
    assert.equal(readSettings({ ID_HEADER: name }).naming.idHeader, name)
  }
})

test('a variable that is nearly the name of a setting is found, and no other', () => {
  const meant = (env: Record<string, string>) =>
    misspeltSettings(env).map(({ name, meant }) => `${name} ${meant}`)
  assert.deepEqual(
    meant({
      WORKER: '2',
      DATABSE_URL: 'x',
      TRUSTED_PROXY: '127.0.0.1',
      log_level: 'info',
      BASEURL: 'x',
      Data_Dir: '/srv',
    }),
    [
      'WORKER WORKERS',
      'DATABSE_URL DATABASE_URL',
      'log_level LOG_LEVEL',
      'BASEURL BASE_URL',
      'Data_Dir DATA_DIR',
    ],
  )
  const others = ['PATH', 'HOSTNAME', 'HOSTS', 'SORT', 'REDIS_PORT', 'SERVICE_HOST', 'NODE_ENV']
  assert.deepEqual(meant(Object.fromEntries(others.map((name) => [name, 'x']))), [])
  assert.deepEqual(meant({ WORKERS: '2', WORKER: '' }), [])
})

test('a base URL has no path, query, fragment or credentials', () => {
  for (const url of ['ftp://x', 'http://x/y', 'http://x/?a', 'http://x/#a', 'http://u@x', 'x']) {
    assert.deepEqual(rejection({ BASE_URL: url }).mistakes.length, 1, url)
  }
  assert.equal(
    readSettings({ BASE_URL: 'https://id.example:8443' }).baseUrl.host,
    'id.example:8443',
  )
})

test('plain http is accepted only on loopback, because it would reveal session cookies', () => {
  for (const url of [
    'http://id.example',
    'http://192.168.0.7:8080',
    'http://[fd00::1]',
    'http://0.0.0.0',
  ]) {
    const [mistake, ...more] = rejection({ BASE_URL: url }).mistakes
    assert.match(mistake ?? '', /^BASE_URL must be an https address \(http only on loopback/, url)
    assert.deepEqual(more, [])
  }
  for (const url of ['http://localhost:8080', 'http://127.0.0.1:8080', 'http://[::1]:8080']) {
    assert.equal(readSettings({ BASE_URL: url }).baseUrl.origin, url)
  }
})

test('TRUSTED_PROXIES accepts IPv4 and IPv6 addresses and ranges', () => {
  const { trustedProxies } = readSettings({ TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8,fd00::/8' })
  assert.deepEqual(trustedProxies, ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'])
  for (const bad of [
    '10.0.0.0/33',
    'fd00::/129',
    '1',
    'true',
    '10.0.0.0/8/8',
    'example.com',
    '0.0.0.0/0',
    '::/0',
  ]) {
    assert.equal(rejection({ TRUSTED_PROXIES: bad }).mistakes.length, 1, bad)
  }
  const widest = ['0.0.0.0/1', '::/1', '::ffff:10.0.0.0/104', 'fe80::1%eth0']
  const accepted = readSettings({ TRUSTED_PROXIES: widest.join() }).trustedProxies
  assert.doesNotThrow(
    () => fastify({ trustProxy: [...accepted] }),
    'Fastify must accept what the parser accepts',
  )
})

test('DNS_RESOLVERS accepts IPv4 and IPv6 addresses with an optional port, and node:dns accepts all of them', () => {
  const { dnsResolvers } = readSettings({})
  assert.deepEqual(dnsResolvers, ['1.1.1.1', '8.8.8.8', '9.9.9.9'])
  const mixed = '127.0.0.1:5353, 9.9.9.9,[::1]:53,2620:fe::fe,[2001:db8::1]:5353'
  const servers = readSettings({ DNS_RESOLVERS: mixed }).dnsResolvers
  assert.deepEqual(servers, mixed.split(/, ?/))
  const resolver = new Resolver()
  resolver.setServers(servers)
  assert.deepEqual(resolver.getServers(), [
    ...['127.0.0.1:5353', '9.9.9.9', '::1', '2620:fe::fe', '[2001:db8::1]:5353'],
  ])
})

test('DNS_RESOLVERS rejects invalid and duplicate servers', () => {
  for (const bad of [
    ...['dns.example', 'localhost:53', '1.1.1', '256.1.1.1', '01.1.1.1', '1.1.1.1:0', '1.1.1.1:'],
    ...[
      '1.1.1.1:65536',
      '1.1.1.1:53:53',
      '[::1]',
      '[::1]:0',
      '[dns.example]:53',
      'https://1.1.1.1',
    ],
    ...['1.1.1.1 8.8.8.8', '1.1.1.1,dns.example', ',', '1.1.1.1,1.1.1.1', '8.8.8.8,8.8.8.8:53'],
    ...['2620:FE::FE,[2620:fe::fe]:53'],
  ]) {
    const [mistake, ...more] = rejection({ DNS_RESOLVERS: bad }).mistakes
    assert.match(mistake ?? '', /^DNS_RESOLVERS must be one or more addresses/, bad)
    assert.deepEqual(more, [])
  }
})

test('LOOPBACK_HOSTS is accepted only if BASE_URL is on loopback', () => {
  const LOOPBACK_HOSTS = 'agents.example.com:8443, api.example.net:9443'
  for (const BASE_URL of ['http://localhost:8080', 'http://127.0.0.1:8080', 'https://[::1]:8443']) {
    assert.deepEqual(
      [...readSettings({ BASE_URL, LOOPBACK_HOSTS }).loopbackHosts],
      [
        ['agents.example.com', 8443],
        ['api.example.net', 9443],
      ],
    )
  }
  const [mistake, ...more] = rejection({ BASE_URL: 'https://id.example', LOOPBACK_HOSTS }).mistakes
  assert.match(mistake ?? '', /^LOOPBACK_HOSTS must be empty unless BASE_URL is on loopback/)
  assert.deepEqual(more, [])
  assert.equal(readSettings({ BASE_URL: 'https://id.example' }).loopbackHosts.size, 0)
  for (const bad of ['agents.example.com', 'a:0', 'a:65536', ':8443', 'a:b', 'a:1:2', 'A b:1']) {
    assert.equal(rejection({ LOOPBACK_HOSTS: bad }).mistakes.length, 1, bad)
  }
})

test('an empty variable counts as unset', () => {
  assert.equal(readSettings({ PORT: '', SHORT_NAME: '' }).port, 8080)
})

function rejection(env: Record<string, string>): SettingsError {
  try {
    readSettings(env)
  } catch (error) {
    assert.ok(error instanceof SettingsError)
    return error
  }
  return assert.fail('the settings were accepted')
}

test('RATE_LIMITS sets each named limit once; the others keep their defaults', () => {
  const { rateLimits, redisUrl } = readSettings({})
  assert.equal(redisUrl, null)
  assert.deepEqual(rateLimits.get('failed-claims'), { quota: 10, windowMs: 60_000 })
  assert.deepEqual(rateLimits.get('recovery-codes'), { quota: 20, windowMs: 3_600_000 })
  const set = readSettings({ RATE_LIMITS: 'mint=1/s, reads=off' }).rateLimits
  assert.deepEqual(set.get('mint'), { quota: 1, windowMs: 1000 })
  assert.equal(set.get('reads'), null)
  assert.deepEqual(set.get('claims'), rateLimits.get('claims'))
  for (const bad of [
    ...[
      'mint',
      'mint=',
      'mint=0/m',
      'mint=5',
      'mint=5/w',
      'mint=-1/m',
      'mint=5/m/m',
      'mint=1000001/m',
    ],
    ...['minting=5/m', 'constructor=5/m', 'mint=5/m,mint=6/m', 'mint=5/m;claims=5/m', 'mint=OFF'],
  ]) {
    const [mistake, ...more] = rejection({ RATE_LIMITS: bad }).mistakes
    assert.match(mistake ?? '', /^RATE_LIMITS must be off, or name=<number>\/<s, m, h or d> /, bad)
    assert.deepEqual(more, [])
  }
})

test('every rate limit that can be set exists', () => {
  const { rateLimits } = readSettings({})
  assert.deepEqual([...rateLimits.keys()].toSorted(), RATE_LIMIT_NAMES.toSorted())
})

test('REDIS_URL must be a redis:// or rediss:// URL', () => {
  for (const good of ['redis://localhost', 'redis://u:p@cache:6379/2', 'rediss://:p@cache:6380']) {
    assert.equal(readSettings({ REDIS_URL: good }).redisUrl, good)
  }
  for (const bad of [
    'localhost:6379',
    'http://cache',
    'redis://',
    'redis://cache/x',
    'redis://c?a=b',
  ]) {
    assert.equal(rejection({ REDIS_URL: bad }).mistakes.length, 1, bad)
  }
})
