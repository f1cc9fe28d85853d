import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifySchemaCompiler, RouteOptions } from 'fastify'
import {
  compileSerializer,
  compileSerializerLazily,
  compileValidator,
  compileValidatorLazily,
} from '../../src/http/compile-schemas.ts'
import { startWith } from './support/start-with.ts'

const ROUTE = { method: 'GET', url: '/' }
const INVALID = { type: 'nothing' }
const PREVIEWS = { PREVIEWS: 'card-formats,rate-limit' }

test('every schema of every route compiles', async (t) => {
  const compiled: string[] = []
  const note = ({ method, url }: { method: string; url: string }) => {
    compiled.push(`${method} ${url}`)
  }
  const onRoute = (route: RouteOptions) => {
    route.validatorCompiler = (schemaOf: Parameters<FastifySchemaCompiler<object>>[0]) => {
      note(schemaOf)
      return compileValidator(schemaOf)
    }
    route.serializerCompiler = (schemaOf: Parameters<FastifySchemaCompiler<object>>[0]) => {
      note(schemaOf)
      return compileSerializer(schemaOf)
    }
    // With compilers of our own, Fastify does not bring the names of headers into lower case.
    const { properties = {} } = (route.schema?.headers ?? {}) as { properties?: object }
    for (const name of Object.keys(properties)) assert.equal(name, name.toLowerCase())
  }
  const service = await startWith(t, PREVIEWS, (app) => app.addHook('onRoute', onRoute))
  const { paths } = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>
  }
  for (const [path, operations] of Object.entries(paths)) {
    const url = path.replace(/\{(\w+)\}/g, ':$1')
    for (const method of Object.keys(operations)) {
      const name = `${method.toUpperCase()} ${url}`
      assert.ok(compiled.includes(name), name)
    }
  }
})

for (const [part, schema] of [
  ['body', { body: INVALID }],
  ['response', { response: { 200: INVALID } }],
] as const) {
  test(`a route with an invalid schema of its ${part} fails the check of all schemas`, async (t) => {
    const started = startWith(t, PREVIEWS, (app) => {
      const validatorCompiler = compileValidator as never
      const serializerCompiler = compileSerializer as never
      const handler = () => undefined
      app.post('/invalid', { schema, validatorCompiler, serializerCompiler, handler })
    })
    await assert.rejects(started, /Failed building the (validation|serialization) schema/)
  })
}

test('a validator that compiles on first use accepts, refuses and explains like one compiled at once', () => {
  const schema = {
    type: 'object',
    properties: { count: { type: 'integer', description: 'a number of agents' } },
    required: ['count'],
    additionalProperties: false,
  }
  const eager = compileValidator({ ...ROUTE, schema })
  const lazy = compileValidatorLazily({ ...ROUTE, schema })
  for (const [data, isValid] of [
    [{ count: 1 }, true],
    [{ count: '1' }, false],
    [{}, false],
    [{ count: 1, more: 1 }, false],
    [null, false],
    [{ count: 2 }, true],
  ]) {
    const before = structuredClone(data)
    assert.equal(lazy(data), isValid)
    assert.equal(eager(data), isValid)
    assert.deepEqual(lazy.errors, eager.errors)
    assert.deepEqual(data, before)
  }
})

test('a serializer that compiles on first use writes the same, and throws for the same', () => {
  const schema = {
    type: 'object',
    properties: { count: { type: 'integer' } },
    required: ['count'],
  }
  const eager = compileSerializer({ ...ROUTE, schema })
  const lazy = compileSerializerLazily({ ...ROUTE, schema })
  for (const data of [{ count: 1 }, { count: 1, more: 1 }]) assert.equal(lazy(data), eager(data))
  assert.throws(() => lazy({}), { message: '"count" is required!' })
})

test('schemas are compiled on first use, not before', () => {
  const validate = compileValidatorLazily({ ...ROUTE, schema: INVALID })
  const serialize = compileSerializerLazily({ ...ROUTE, schema: INVALID })
  assert.throws(() => validate({}), /type must be JSONType/)
  assert.throws(() => serialize({}), /schema is invalid/)
})
