// Preloaded (NODE_OPTIONS=--import) into programs that must run without a network: connections leave loopback for nowhere.
import { Socket } from 'node:net'

const { connect } = Socket.prototype

Socket.prototype.connect = function (...args) {
  // net.connect passes its arguments on as one array.
  const [first, second] = Array.isArray(args[0]) ? args[0] : args
  const named = typeof first === 'object' ? first.host : typeof second === 'string' ? second : null
  const host = named ?? 'localhost'
  if (/^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host)) return connect.apply(this, args)
  console.error(`A connection to ${host} was refused: loopback only.`)
  process.nextTick(() => this.destroy(new Error(`${host} is not on loopback`)))
  return this
}
