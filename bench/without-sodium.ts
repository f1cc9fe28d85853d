import module from 'node:module'

// Import it first: gateways of this process then find no sodium-native, and verify by node:crypto, as they do by themselves.
module.createRequire = () => {
  throw new Error('no package is loaded that way')
}
