import AjvCompiler from '@fastify/ajv-compiler'
import SerializerSelector from '@fastify/fast-json-stringify-compiler'
import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify'

/** Input is never converted, stripped or completed: it has the form that the schema describes, or it is refused. */
const AJV_OPTIONS = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  allErrors: false,
  // Validation errors carry their schema, whose description goes into the error message.
  verbose: true,
} as const

const compileWithAjv = AjvCompiler()({}, { customOptions: AJV_OPTIONS })
const compileWithStringify = SerializerSelector()()

/**
 * Compiles the schema of a part of a request.
 * @throws Error if the schema is invalid
 */
export const compileValidator: FastifySchemaCompiler<object> = oncePerSchema(
  (route) => compileWithAjv(route) as ReturnType<FastifySchemaCompiler<object>>,
)

/**
 * Compiles the schema of a response.
 * @throws Error if the schema is invalid
 */
export const compileSerializer: FastifySerializerCompiler<object> = oncePerSchema((route) =>
  compileWithStringify(route as Parameters<typeof compileWithStringify>[0]),
)

/** For Fastify's `setValidatorCompiler`: compiles on first use, since all schemas at once would be most of the start's CPU time. */
export const compileValidatorLazily: FastifySchemaCompiler<object> = (route) => {
  let compiled: ReturnType<typeof compileValidator> | null = null
  const validate: ReturnType<typeof compileValidator> = (data) => {
    compiled ??= compileValidator(route)
    const result = compiled(data)
    // Fastify reads the errors here.
    validate.errors = compiled.errors ?? null
    return result
  }
  return validate
}

/** The same for `setSerializerCompiler`. */
export const compileSerializerLazily: FastifySerializerCompiler<object> = (route) => {
  let compiled: ReturnType<typeof compileSerializer> | null = null
  return (data) => {
    compiled ??= compileSerializer(route)
    return compiled(data)
  }
}

/** The same for one schema: writes the same text as a route that answers with it. */
export function serializerOf(schema: object): (data: unknown) => string {
  return compileSerializerLazily({ schema, method: 'GET', url: '', httpStatus: '200' })
}

/** Many routes have equal schemas, such as that of errors. */
function oncePerSchema<Route extends { schema: object }, Compiled>(
  compile: (route: Route) => Compiled,
): (route: Route) => Compiled {
  const compiled = new Map<string, Compiled>()
  return (route) => {
    const key = JSON.stringify(route.schema)
    const known = compiled.get(key)
    if (known !== undefined) return known
    const made = compile(route)
    compiled.set(key, made)
    return made
  }
}
