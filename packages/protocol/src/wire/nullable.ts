import { type Static, type TSchema, Type } from 'typebox'

/** A schema that also accepts null: `"type": ["string", "null"]`, which serializers handle without a union. */
export function nullable<T extends TSchema & { type: string }>(schema: T) {
  return Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, 'null'] })
}
