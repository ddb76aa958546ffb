//! Lists the kernels of a PTX file and says of each whether it can be run, and if not why:
//! `cargo run -p ptx-vm --example kernels -- FILE.ptx…`.

use ptx_vm::Module;

#[allow(clippy::print_stdout)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let module = match Module::parse(&std::fs::read_to_string(&path)?) {
            Ok(module) => module,
            Err(error) => {
                println!("{path}: {error}");
                continue;
            }
        };
        for kernel in module.kernels() {
            match module.check(kernel) {
                Ok(()) => println!("{path}: {kernel}: runs"),
                Err(error) => println!("{path}: {kernel}: {error}"),
            }
        }
    }
    Ok(())
}
