import { type Static, type TSchema, Type } from 'typebox'

/** A schema or null, as JSON Schema writes it (`"type": ["string", "null"]`), which serializers do without a union. */
export function nullable<T extends TSchema & { type: string }>(schema: T) {
  return Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, 'null'] })
}
