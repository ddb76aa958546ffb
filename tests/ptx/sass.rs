//! Registers of products that are under way, in the machine code that ptxas makes.
//!
//! `wgmma` reads operands in registers until it is waited for, and nothing between may write them.
//! PTX has registers without end; it is ptxas that gives each a real one, and it may give that of an
//! operand to another value as soon as no later instruction names it.

use super::ptxas::{assemble, assembler};
use super::{kernels, modules};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::process::Command;

/// An instruction as nvdisasm writes it.
#[derive(Debug)]
struct Instruction<'a> {
    text: &'a str,
    /// Whether it runs under a condition.
    conditional: bool,
    /// With its modifiers.
    name: &'a str,
    operands: Vec<&'a str>,
}

/// What nvdisasm writes of one function: instructions, and where each label stands.
#[derive(Debug, Default)]
struct Code<'a> {
    instructions: Vec<Instruction<'a>>,
    labels: BTreeMap<&'a str, usize>,
}

impl<'a> Code<'a> {
    fn parse(text: &'a str) -> Self {
        let mut code = Code::default();
        for line in text.lines() {
            if let Some(label) = line.trim_end().strip_suffix(':') {
                code.labels.insert(label, code.instructions.len());
            } else if let Some(instruction) = instruction(line) {
                code.instructions.push(instruction);
            }
        }
        code
    }

    /// Instructions that write to a register that a product still reads, with that product.
    fn hazards(&self) -> Vec<[&'a str; 2]> {
        let products = 0..self.instructions.len();
        let hazards = products.filter_map(|at| {
            let operand = self.instructions[at].fragment()?;
            let written = self.written_too_early(at, &operand)?;
            Some([self.instructions[at].text, written])
        });
        hazards.collect()
    }

    /// On the ways from product `at` to the waits for it, the first instruction that writes to its
    /// operand.
    fn written_too_early(&self, at: usize, operand: &Range<u32>) -> Option<&'a str> {
        let mut seen = BTreeSet::new();
        // The next instruction, and how many groups have been closed behind the product's own; none
        // as long as that is open.
        let mut ways = vec![(at + 1, self.instructions[at].closes_group().then_some(0))];
        while let Some((next, closed)) = ways.pop() {
            let Some(instruction) = self.instructions.get(next) else {
                continue;
            };
            if !seen.insert((next, closed)) {
                continue;
            }
            let written = instruction.written();
            if written.start < operand.end && operand.start < written.end {
                return Some(instruction.text);
            }
            let waited = instruction.waits_for_all_but().zip(closed);
            if waited.is_some_and(|(pending, closed)| closed >= pending) {
                continue;
            }
            let closed = match (instruction.closes_group(), closed) {
                (true, closed) => Some(closed.map_or(0, |closed| closed + 1)),
                (false, closed) => closed,
            };
            let ends = ["BRA", "EXIT"].contains(&instruction.kind());
            if !ends || instruction.conditional {
                ways.push((next + 1, closed));
            }
            let target = instruction.target().map(|label| self.labels[label]);
            ways.extend(target.map(|target| (target, closed)));
        }
        None
    }
}

/// Parses a line such as `/*0010*/ @!P0 LDS.64 R2, [R4+0x8] ;`.
fn instruction(line: &str) -> Option<Instruction<'_>> {
    let (_, text) = line.split_once("*/")?;
    let text = text.split(';').next()?.trim();
    let rest = text.strip_prefix('@');
    let rest = match rest {
        Some(rest) => rest.split_once(' ')?.1.trim_start(),
        None => text,
    };
    let (name, operands) = rest.split_once(' ').unwrap_or((rest, ""));
    Some(Instruction {
        text,
        conditional: text.starts_with('@'),
        name,
        operands: operands.split(',').map(str::trim).collect(),
    })
}

impl<'a> Instruction<'a> {
    /// The name without modifiers.
    fn kind(&self) -> &'a str {
        self.name.split('.').next().unwrap_or(self.name)
    }

    /// Registers of the left operand of a product that has it in registers.
    fn fragment(&self) -> Option<Range<u32>> {
        let first = register(self.operands.get(1).filter(|_| self.kind() == "HGMMA")?)?;
        Some(first..first + 4)
    }

    /// Whether a group of products ends with it.
    fn closes_group(&self) -> bool {
        self.kind() == "HGMMA" && self.operands.contains(&"gsb0")
    }

    /// How many groups a wait leaves under way.
    fn waits_for_all_but(&self) -> Option<u32> {
        let pending = (self.name == "WARPGROUP.DEPBAR.LE").then(|| self.operands[1])?;
        let pending = pending.strip_prefix("0x").expect("a hexadecimal number");
        Some(u32::from_str_radix(pending, 16).expect("a hexadecimal number"))
    }

    /// Label that it may go to.
    fn target(&self) -> Option<&'a str> {
        let label = self.operands.last().filter(|_| self.kind() == "BRA")?;
        let label = label.rsplit_once("`(")?.1;
        label.strip_suffix(')')
    }

    /// Registers that it writes: at least those; sums of products are not among them.
    fn written(&self) -> Range<u32> {
        let count = match self.name {
            "HGMMA" => 0,
            name if name.contains(".128") || name.starts_with("LDSM") => 4,
            name if ["64", "WIDE", "CS2R"]
                .iter()
                .any(|wide| name.contains(wide)) =>
            {
                2
            }
            _ => 1,
        };
        // A predicate may come before.
        let predicate = |operand: &str| operand.trim_start_matches('U').starts_with('P');
        let first = match self.operands.as_slice() {
            [first, second, ..] if predicate(first) => register(second),
            [first, ..] if self.kind() != "HGMMA" => register(first),
            _ => None,
        };
        first.map_or(0..0, |first| first..first + count)
    }
}

/// Number of a register.
fn register(operand: &str) -> Option<u32> {
    operand.strip_prefix('R')?.parse().ok()
}

/// Four loads into R8 to R11, a product that reads them, and what follows.
fn hazards_behind_a_product(rest: &str) -> usize {
    let text = format!(
        ".text.one:\n.L_x_1:\n/*0000*/ LDS.128 R8, [R2] ;\n/*0010*/ WARPGROUP.ARRIVE ;\n\
         /*0020*/ HGMMA.64x256x8.F32.TF32 R24, R8, gdesc[UR8], R24, gsb0 ;\n{rest}"
    );
    Code::parse(&text).hazards().len()
}

#[test]
fn registers_that_are_written_too_early_are_found() {
    let wait = |pending| format!("/*0030*/ WARPGROUP.DEPBAR.LE gsb0, {pending} ;\n");
    let next = "/*0040*/ HGMMA.64x256x8.F32.TF32 R24, R12, gdesc[UR8], R24, gsb0 ;\n";
    let write = "/*0050*/ @P0 LDS.64 R10, [R2+0x8] ;\n";
    let back = "/*0060*/ @P1 BRA `(.L_x_1) ;\n";
    // Waited for, as the group before the last one or as the last.
    assert_eq!(hazards_behind_a_product(&(wait("0x0") + write + back)), 0);
    let other = format!("{next}{}{write}{}{back}", wait("0x1"), wait("0x0"));
    assert_eq!(hazards_behind_a_product(&other), 0);
    // Not waited for, one group too few, and only on the way back.
    assert_eq!(hazards_behind_a_product(write), 1);
    assert_eq!(hazards_behind_a_product(&(wait("0x1") + write)), 1);
    assert_eq!(hazards_behind_a_product(back), 1);
    // Other registers, and those of a wider write that begins before.
    for (write, found) in [
        ("LDS.64 R12, [R2]", 0),
        ("IADD3 R11, P1, R2, R4, RZ", 1),
        ("LDS.128 R5, [R2]", 1),
    ] {
        assert_eq!(
            hazards_behind_a_product(&format!("/*0030*/ {write} ;")),
            found,
            "{write}"
        );
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that is skipped must be seen")]
fn products_under_way_keep_their_registers() {
    let Some(ptxas) = assembler() else { return };
    let disassembler = ptxas.with_file_name("nvdisasm");
    if !disassembler.is_file() {
        let file = disassembler.display();
        assert!(
            std::env::var_os(super::ptxas::REQUIRED).is_none(),
            "there is no {file}: install PyPI's nvidia-cuda-nvdisasm"
        );
        eprintln!("SKIPPED: no {file}; PyPI's nvidia-cuda-nvdisasm has it");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut found = 0;
    for ptx in modules() {
        for (name, kernel) in kernels(&ptx) {
            let in_registers =
                |line: &&str| line.contains("wgmma.mma_async") && line.contains("}, {");
            if !kernel.body.iter().any(in_registers) {
                continue;
            }
            // This entry alone.
            let head = &ptx.text[..ptx.text.find(".visible .entry").unwrap()];
            let start = ptx.text.find(&format!(".visible .entry {name}(")).unwrap();
            let end = start + ptx.text[start..].find("\n}").unwrap() + 2;
            let text = format!("{head}{}\n", &ptx.text[start..end]);
            let (cubin, _) = assemble(&ptxas, &ptx.target, &text, folder.path());
            let output = Command::new(&disassembler)
                .arg("-c")
                .arg(&cubin)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
            let text = String::from_utf8(output.stdout).unwrap();
            let code = Code::parse(&text);
            let products = code
                .instructions
                .iter()
                .filter_map(Instruction::fragment)
                .count();
            assert!(
                products > 0,
                "{name} has no product with an operand in registers"
            );
            assert_eq!(code.hazards(), [[""; 2]; 0], "{name}");
            found += 1;
        }
    }
    assert!(found > 0, "no kernel has an operand of wgmma in registers");
}
