// Only a module of this kind has `import.meta.resolve`.

export const resolveImport = (specifier, url) => import.meta.resolve(specifier, url);
