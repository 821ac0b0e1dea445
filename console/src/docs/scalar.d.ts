/** Made by `vite.config.ts`: the address of a script, which sets a global variable. */
declare module 'virtual:scalar' {
  const address: string
  export default address
}
declare const Scalar: { createApiReference(place: string, settings: object): void }
