"""Formulas from public collections, written anew: what users of a differentiation tool bring with them.

A row is a name, the formula in the grammar's text, and a point. Shapes are the point's. Lines ``name = formula`` are
definitions. Scalar formulas are put through SymPy too, by Python's own parser; array formulas that SymPy can say have a
builder of their own in :data:`SYMPY`.

After: the Feynman Symbolic Regression Database and SRSD (Udrescu and Tegmark 2020; Matsubara 2022); Moré, Garbow and
Hillstrom (1981) and common optimisation test functions; ADBench (Srajer 2018); the Matrix Cookbook, chapter 2 (numbers
are its equations'); Magnus and Neudecker; matrixcalculus.org (Laue 2018); stiff kinetics of Hairer and Wanner;
log-likelihoods of common distributions; Black and Scholes; rigid-body kinematics; Hamiltonians; neural networks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

Point = dict[str, Any]
FEYNMAN: list[tuple[str, str, Point]] = [
    ("I.6.20a", "exp(-theta**2 / 2) / sqrt(2*pi)", {"theta": 1.3}),
    ("I.6.20", "exp(-(theta / sigma)**2 / 2) / (sqrt(2*pi) * sigma)", {"theta": 1.3, "sigma": 2.1}),
    (
        "I.6.20b",
        "exp(-((theta - theta1) / sigma)**2 / 2) / (sqrt(2*pi) * sigma)",
        {"theta": 1.3, "theta1": 0.4, "sigma": 2.1},
    ),
    ("I.8.14", "sqrt((x2 - x1)**2 + (y2 - y1)**2)", {"x1": 1.0, "x2": 3.5, "y1": -0.5, "y2": 2.0}),
    (
        "I.9.18",
        "G*m1*m2 / ((x2 - x1)**2 + (y2 - y1)**2 + (z2 - z1)**2)",
        {"G": 6.674e-11, "m1": 5.0, "m2": 7.0, "x1": 1.0, "x2": 2.5, "y1": 0.3, "y2": 1.9, "z1": 2.0, "z2": -1.0},
    ),
    ("I.10.7", "m0 / sqrt(1 - v**2 / c**2)", {"m0": 2.0, "v": 1.2, "c": 3.0}),
    ("I.15.3x", "(x - u*t) / sqrt(1 - u**2 / c**2)", {"x": 5.0, "u": 1.5, "t": 0.7, "c": 4.0}),
    ("I.15.3t", "(t - u*x / c**2) / sqrt(1 - u**2 / c**2)", {"x": 5.0, "u": 1.5, "t": 0.7, "c": 4.0}),
    ("I.15.10", "m0*v / sqrt(1 - v**2 / c**2)", {"m0": 2.0, "v": 2.99, "c": 3.0}),
    ("I.16.6", "(u + v) / (1 + u*v / 2.99792458e8**2)", {"u": 1.0e8, "v": 2.0e8}),
    ("I.18.4", "(m1*r1 + m2*r2) / (m1 + m2)", {"m1": 1.0, "r1": 2.0, "m2": 3.0, "r2": 4.5}),
    ("I.24.6", "1 / 2*m*(omega**2 + omega_0**2)*1 / 2*x**2", {"m": 1.1, "omega": 2.0, "omega_0": 1.5, "x": 0.8}),
    ("I.26.2", "arcsin(n*sin(theta2))", {"n": 0.7, "theta2": 0.9}),
    ("I.27.6", "1 / (1 / d1 + n / d2)", {"d1": 2.0, "n": 1.5, "d2": 3.0}),
    (
        "I.29.16",
        "sqrt(x1**2 + x2**2 - 2*x1*x2*cos(theta1 - theta2))",
        {"x1": 1.0, "x2": 2.0, "theta1": 0.4, "theta2": 2.0},
    ),
    ("I.30.3", "I0*sin(n*theta / 2)**2 / sin(theta / 2)**2", {"I0": 2.0, "n": 3.0, "theta": 1.1}),
    ("I.30.5", "arcsin(lam / (n*d))", {"lam": 1.5, "n": 2.0, "d": 3.0}),
    (
        "I.32.17",
        "(1/2*eps*c*Ef**2)*(8*pi*r**2/3)*(omega**4/(omega**2 - omega_0**2)**2)",
        {"eps": 8.854e-12, "c": 2.99792458e8, "Ef": 1.5, "r": 1.2, "omega": 1.4, "omega_0": 3.1},
    ),
    ("I.34.14", "(1 + v/c) / sqrt(1 - v**2/c**2)*omega_0", {"v": 1.0, "c": 3.0, "omega_0": 2.0}),
    ("I.37.4", "I1 + I2 + 2*sqrt(I1*I2)*cos(delta)", {"I1": 1.0, "I2": 2.5, "delta": 0.6}),
    ("I.38.12", "4*pi*8.854e-12*(6.626e-34 / (2*pi))**2 / (m*q**2)", {"m": 9.1e-31, "q": 1.6e-19}),
    ("I.40.1", "n0*exp(-m*g*x / (kb*T))", {"n0": 2.0, "m": 1.0, "g": 1.2, "x": 0.7, "kb": 1.1, "T": 2.0}),
    (
        "I.41.16",
        "h*omega**3 / (pi**2*c**2*(exp(h*omega / (kb*T)) - 1))",
        {"omega": 1.2, "T": 2.0, "h": 1.1, "kb": 1.3, "c": 2.0},
    ),
    (
        "I.41.16 SI",
        "6.626e-34/(2*pi)*omega**3 / (pi**2*2.99792458e8**2*(exp(6.626e-34/(2*pi)*omega / (1.380649e-23*T)) - 1))",
        {"omega": 1.0e12, "T": 300.0},
    ),
    ("I.43.43", "1 / (gam - 1)*1.380649e-23*v / A", {"gam": 1.4, "v": 300.0, "A": 0.01}),
    ("I.44.4", "n*kb*T*ln(V2 / V1)", {"n": 1.0, "kb": 1.4, "T": 2.0, "V1": 1.5, "V2": 2.5}),
    ("I.47.23", "sqrt(gam*pr / rho)", {"gam": 1.4, "pr": 2.0, "rho": 1.2}),
    ("I.50.26", "x1*(cos(omega*t) + alpha*cos(omega*t)**2)", {"x1": 1.0, "omega": 2.0, "t": 0.3, "alpha": 0.1}),
    (
        "II.6.15a",
        "p_d / (4*pi*eps)*3*z / r**5*sqrt(x**2 + y**2)",
        {"p_d": 1.0, "eps": 1.2, "z": 0.5, "r": 2.0, "x": 1.0, "y": 0.7},
    ),
    ("II.6.15b", "p_d / (4*pi*eps)*3*cos(theta)*sin(theta) / r**3", {"p_d": 1.0, "eps": 1.2, "theta": 0.5, "r": 2.0}),
    ("II.11.27", "n*alpha / (1 - (n*alpha / 3))*eps*Ef", {"n": 0.6, "alpha": 0.5, "eps": 1.2, "Ef": 2.0}),
    ("II.24.17", "sqrt(omega**2 / c**2 - pi**2 / d**2)", {"omega": 8.0, "c": 2.0, "d": 3.0}),
    (
        "II.35.18",
        "n_0 / (exp(mom*B / (kb*T)) + exp(-mom*B / (kb*T)))",
        {"n_0": 1.0, "mom": 1.2, "B": 0.8, "kb": 1.1, "T": 2.0},
    ),
    ("II.35.21", "n_rho*mom*tanh(mom*B / (kb*T))", {"n_rho": 1.0, "mom": 1.2, "B": 0.8, "kb": 1.1, "T": 2.0}),
    (
        "II.36.38",
        "mom*H / (kb*T) + (mom*alpha) / (eps*c**2*kb*T)*M",
        {"mom": 1.0, "H": 1.1, "kb": 1.2, "T": 1.3, "alpha": 1.4, "eps": 1.5, "c": 1.6, "M": 1.7},
    ),
    ("III.4.32", "1 / (exp((h / (2*pi))*omega / (kb*T)) - 1)", {"h": 1.0, "omega": 3.0, "kb": 1.2, "T": 2.0}),
    ("III.8.54", "sin(E_n*t / (h / (2*pi)))**2", {"E_n": 1.0, "t": 0.3, "h": 2.0}),
    (
        "III.9.52",
        "(p_d*Ef*t / h)*sin((omega - omega_0)*t / 2)**2 / ((omega - omega_0)*t / 2)**2",
        {"p_d": 1.0, "Ef": 2.0, "t": 1.5, "h": 1.1, "omega": 2.0, "omega_0": 1.2},
    ),
    ("III.10.19", "mom*sqrt(Bx**2 + By**2 + Bz**2)", {"mom": 1.0, "Bx": 0.5, "By": -1.2, "Bz": 2.0}),
    ("III.14.14", "I_0*(exp(q*Volt / (kb*T)) - 1)", {"I_0": 1.0, "q": 1.2, "Volt": 0.01, "kb": 1.1, "T": 2.0}),
    ("III.15.12", "2*U*(1 - cos(k*d))", {"U": 1.0, "k": 0.4, "d": 1.2}),
    ("III.17.37", "beta*(1 + alpha*cos(theta))", {"beta": 1.0, "alpha": 0.3, "theta": 0.7}),
    ("III.21.20", "-rho_c_0*q*A_vec / m", {"rho_c_0": 1.0, "q": 1.2, "A_vec": 0.5, "m": 2.0}),
    (
        "Bonus Rutherford",
        "(Z1*Z2*alpha*hbar*c / (4*E_n*sin(theta/2)**2))**2",
        {"Z1": 1.0, "Z2": 2.0, "alpha": 1.1, "hbar": 1.2, "c": 1.3, "E_n": 2.0, "theta": 0.9},
    ),
    ("Bonus Compton", "E_n / (1 + E_n / (m*c**2)*(1 - cos(theta)))", {"E_n": 2.0, "m": 1.0, "c": 1.5, "theta": 0.8}),
    (
        "Bonus gravitational waves",
        "-32/5*G**4 / c**5*(m1*m2)**2*(m1 + m2) / r**5",
        {"G": 1.1, "c": 1.4, "m1": 1.0, "m2": 2.0, "r": 1.7},
    ),
    (
        "Bonus relativistic aberration",
        "arccos((cos(theta2) - v/c) / (1 - v/c*cos(theta2)))",
        {"theta2": 0.9, "v": 1.0, "c": 3.0},
    ),
    (
        "Bonus Klein-Nishina",
        "1/(4*pi)*alpha**2*h**2/(m**2*c**2)*(omega_0/omega)**2*(omega_0/omega + omega/omega_0 - sin(beta)**2)",
        {"alpha": 0.9, "h": 1.1, "m": 1.2, "c": 1.3, "omega": 1.0, "omega_0": 1.4, "beta": 0.7},
    ),
    ("Bonus orbit", "sqrt(2/m*(E_n - U - L**2/(2*m*r**2)))", {"m": 1.0, "E_n": 5.0, "U": 1.0, "L": 1.2, "r": 1.5}),
    ("Bonus Goldstein 3.74", "2*pi*d**(3/2)/sqrt(G*(m1 + m2))", {"d": 1.5, "G": 1.1, "m1": 1.2, "m2": 2.0}),
]

OPTIMISATION: list[tuple[str, str, Point]] = [
    ("Rosenbrock", "100*(y - x**2)**2 + (1 - x)**2", {"x": -1.2, "y": 1.0}),
    ("Rosenbrock in n", "sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)", {"x": [-1.2, 1.0, 0.5, -0.3]}),
    ("Beale", "(1.5 - x + x*y)**2 + (2.25 - x + x*y**2)**2 + (2.625 - x + x*y**3)**2", {"x": 1.0, "y": 0.3}),
    ("Himmelblau", "(x**2 + y - 11)**2 + (x + y**2 - 7)**2", {"x": 1.5, "y": -0.4}),
    ("Booth", "(x + 2*y - 7)**2 + (2*x + y - 5)**2", {"x": 0.5, "y": 2.0}),
    ("Matyas", "0.26*(x**2 + y**2) - 0.48*x*y", {"x": 1.0, "y": -2.0}),
    ("three-hump camel", "2*x**2 - 1.05*x**4 + x**6/6 + x*y + y**2", {"x": 1.1, "y": -0.7}),
    ("six-hump camel", "(4 - 2.1*x**2 + x**4/3)*x**2 + x*y + (-4 + 4*y**2)*y**2", {"x": 0.3, "y": -0.7}),
    ("Ackley", "-20*exp(-0.2*sqrt(mean(x**2))) - exp(mean(cos(2*pi*x))) + 20 + e", {"x": [0.5, -1.2, 2.0]}),
    ("Griewank", "1 + sum(x**2)/4000 - prod(cos(x / sqrt([1, 2, 3])))", {"x": [1.0, -2.0, 3.5]}),
    ("Rastrigin", "10*3 + sum(x**2 - 10*cos(2*pi*x))", {"x": [0.3, 1.2, -0.8]}),
    (
        "Levy",
        "w = 1 + (x - 1)/4\n"
        "sin(pi*w[0])**2 + sum((w[:-1] - 1)**2*(1 + 10*sin(pi*w[:-1] + 1)**2))"
        " + (w[-1] - 1)**2*(1 + sin(2*pi*w[-1])**2)",
        {"x": [2.0, -1.0, 0.5]},
    ),
    (
        "Levy 13",
        "sin(3*pi*x)**2 + (x - 1)**2*(1 + sin(3*pi*y)**2) + (y - 1)**2*(1 + sin(2*pi*y)**2)",
        {"x": 0.4, "y": 1.7},
    ),
    (
        "Goldstein-Price",
        "(1 + (x + y + 1)**2*(19 - 14*x + 3*x**2 - 14*y + 6*x*y + 3*y**2))"
        "*(30 + (2*x - 3*y)**2*(18 - 32*x + 12*x**2 + 48*y - 36*x*y + 27*y**2))",
        {"x": 0.2, "y": -0.6},
    ),
    ("Easom", "-cos(x)*cos(y)*exp(-(x - pi)**2 - (y - pi)**2)", {"x": 2.7, "y": 3.4}),
    ("McCormick", "sin(x + y) + (x - y)**2 - 1.5*x + 2.5*y + 1", {"x": -0.5, "y": 1.5}),
    ("Styblinski-Tang", "sum(x**4 - 16*x**2 + 5*x)/2", {"x": [1.0, -2.0, 0.3]}),
    ("Branin", "(y - 5.1/(4*pi**2)*x**2 + 5/pi*x - 6)**2 + 10*(1 - 1/(8*pi))*cos(x) + 10", {"x": 2.0, "y": 3.0}),
    ("Bukin 6", "100*sqrt(abs(y - 0.01*x**2)) + 0.01*abs(x + 10)", {"x": -9.0, "y": 2.0}),
    (
        "cross-in-tray",
        "-0.0001*(abs(sin(x)*sin(y)*exp(abs(100 - sqrt(x**2 + y**2)/pi))) + 1)**0.1",
        {"x": 1.0, "y": 2.0},
    ),
    ("Eggholder", "-(y + 47)*sin(sqrt(abs(y + x/2 + 47))) - x*sin(sqrt(abs(x - (y + 47))))", {"x": 3.0, "y": 5.0}),
    ("Schaffer 2", "0.5 + (sin(x**2 - y**2)**2 - 0.5)/(1 + 0.001*(x**2 + y**2))**2", {"x": 1.0, "y": 2.0}),
    ("Drop-wave", "-(1 + cos(12*sqrt(x**2 + y**2)))/(0.5*(x**2 + y**2) + 2)", {"x": 0.4, "y": -0.3}),
    ("Zakharov", "s = sum(0.5*[1, 2, 3]*x)\nsum(x**2) + s**2 + s**4", {"x": [0.5, -0.2, 1.0]}),
    ("Michalewicz", "-sum(sin(x)*sin([1, 2, 3]*x**2/pi)**20)", {"x": [2.2, 1.57, 1.3]}),
    (
        "Powell singular",
        "(a + 10*b)**2 + 5*(c - d)**2 + (b - 2*c)**4 + 10*(a - d)**4",
        {"a": 3.0, "b": -1.0, "c": 0.0, "d": 1.0},
    ),
    ("Powell badly scaled", "(1e4*x*y - 1)**2 + (exp(-x) + exp(-y) - 1.0001)**2", {"x": 0.0, "y": 1.0}),
    ("Brown badly scaled", "(x - 1e6)**2 + (y - 2e-6)**2 + (x*y - 2)**2", {"x": 1.0, "y": 1.0}),
    ("Jennrich-Sampson residual", "2 + 2*k - (exp(k*x) + exp(k*y))", {"k": 3.0, "x": 0.3, "y": 0.4}),
    (
        "helical valley",
        "100*((z - 10*arctan2(y, x)/(2*pi))**2 + (sqrt(x**2 + y**2) - 1)**2) + z**2",
        {"x": -1.0, "y": 0.1, "z": 0.2},
    ),
    ("Bard", "y - (x1 + u/(v*x2 + w*x3))", {"y": 0.14, "x1": 1.0, "x2": 1.1, "x3": 0.9, "u": 3.0, "v": 13.0, "w": 3.0}),
    ("MGH Gaussian", "x1*exp(-x2*(t - x3)**2/2) - y", {"x1": 0.4, "x2": 1.0, "x3": 0.1, "t": 1.5, "y": 0.2420}),
    ("Meyer", "x1*exp(x2/(t + x3)) - y", {"x1": 0.02, "x2": 4000.0, "x3": 250.0, "t": 50.0, "y": 34780.0}),
    ("Gulf", "exp(-abs(y - x2)**x3/x1) - t", {"x1": 5.0, "x2": 2.5, "x3": 0.15, "y": 25.0, "t": 0.3}),
    ("Box 3D", "(exp(-0.1*x) - exp(-0.1*y) - z*(exp(-0.1) - exp(-1)))**2", {"x": 0.0, "y": 10.0, "z": 20.0}),
    (
        "Kowalik-Osborne",
        "y - x1*(u**2 + u*x2)/(u**2 + u*x3 + x4)",
        {"y": 0.2, "u": 0.5, "x1": 0.25, "x2": 0.39, "x3": 0.415, "x4": 0.39},
    ),
    (
        "Brown-Dennis",
        "((a + t*b - exp(t))**2 + (c + d*sin(t) - cos(t))**2)**2",
        {"a": 25.0, "b": 5.0, "c": -5.0, "d": -1.0, "t": 0.2},
    ),
    (
        "Osborne 1",
        "y - (x1 + x2*exp(-t*x4) + x3*exp(-t*x5))",
        {"y": 0.8, "x1": 0.5, "x2": 1.5, "x3": -1.0, "x4": 0.01, "x5": 0.02, "t": 10.0},
    ),
    (
        "Biggs EXP6",
        "x3*exp(-t*x1) - x4*exp(-t*x2) + x6*exp(-t*x5) - y",
        {"x1": 1.0, "x2": 2.0, "x3": 1.0, "x4": 1.0, "x5": 1.0, "x6": 1.0, "t": 0.3, "y": 0.5},
    ),
    (
        "Wood",
        "100*(b - a**2)**2 + (1 - a)**2 + 90*(d - c**2)**2 + (1 - c)**2 + 10*(b + d - 2)**2 + (b - d)**2/10",
        {"a": -3.0, "b": -1.0, "c": -3.0, "d": -1.0},
    ),
    ("penalty I", "1e-5*sum((x - 1)**2) + (sum(x**2) - 0.25)**2", {"x": [1.0, 2.0, 3.0, 4.0]}),
    ("variably dimensioned", "s = sum([1, 2, 3]*(x - 1))\nsum((x - 1)**2) + s**2 + s**4", {"x": [0.6, 0.3, 0.1]}),
    ("trigonometric", "sum((3 - sum(cos(x)) + [1, 2, 3]*(1 - cos(x)) - sin(x))**2)", {"x": [0.3, 0.4, 0.5]}),
    (
        "Broyden tridiagonal",
        "(3 - 2*x)*x - concatenate(([0], x[:-1])) - 2*concatenate((x[1:], [0])) + 1",
        {"x": [-1.0, -0.8, -1.1]},
    ),
    (
        "discrete boundary value",
        "2*x - concatenate(([0], x[:-1])) - concatenate((x[1:], [0])) + (x + [0.25, 0.5, 0.75] + 1)**3/32",
        {"x": [-0.1, 0.2, 0.05]},
    ),
    ("Brown almost-linear", "concatenate((x[:-1] + sum(x) - 4, [prod(x) - 1]))", {"x": [0.5, 0.6, 0.4]}),
]

SCIENCE: list[tuple[str, str, Point]] = [
    (
        "Robertson",
        "[-0.04*y[0] + 1e4*y[1]*y[2], 0.04*y[0] - 1e4*y[1]*y[2] - 3e7*y[1]**2, 3e7*y[1]**2]",
        {"y": [0.9, 2e-5, 0.1]},
    ),
    ("Brusselator", "[1 + y[0]**2*y[1] - 4*y[0], 3*y[0] - y[0]**2*y[1]]", {"y": [1.5, 3.0]}),
    (
        "Oregonator",
        "[77.27*(y[1] + y[0]*(1 - 8.375e-6*y[0] - y[1])), (y[2] - (1 + y[0])*y[1])/77.27, 0.161*(y[0] - y[2])]",
        {"y": [1.0, 2.0, 3.0]},
    ),
    ("Van der Pol", "[y[1], ((1 - y[0]**2)*y[1] - y[0])/1e-6]", {"y": [2.0, -0.66]}),
    (
        "HIRES",
        "[-1.71*y[0] + 0.43*y[1] + 8.32*y[2] + 0.0007, 1.71*y[0] - 8.75*y[1], -280*y[1]*y[2] + 0.69*y[0]]",
        {"y": [1.0, 0.2, 0.1]},
    ),
    (
        "POLLU part",
        "k = [0.35, 26.6, 12300, 8.6e-4]\nr = k*[y[0], y[1]*y[3], y[1]*y[2], y[2]]\n"
        "[-r[0] + r[1], -r[1] - r[2] + r[0], r[3] - r[2], r[3] - r[1]]",
        {"y": [0.2, 0.04, 0.3, 0.01]},
    ),
    ("Arrhenius", "A*T**b*exp(-Ea/(8.314462618*T))", {"A": 1e13, "T": 900.0, "b": 0.5, "Ea": 1.5e5}),
    ("Michaelis-Menten", "Vmax*S/(Km*(1 + Inh/Ki) + S)", {"Vmax": 2.0, "S": 0.5, "Km": 0.3, "Inh": 0.2, "Ki": 0.1}),
    ("Hill", "x**n/(K**n + x**n)", {"x": 0.7, "n": 2.4, "K": 1.1}),
    ("van der Waals", "R*T/(V - b) - a/V**2", {"R": 8.314, "T": 300.0, "V": 0.02, "a": 0.36, "b": 4.3e-5}),
    ("Lennard-Jones", "4*eps*((sig/r)**12 - (sig/r)**6)", {"eps": 1.1, "sig": 0.9, "r": 1.2}),
    ("Morse", "D*(1 - exp(-a*(r - re)))**2", {"D": 4.7, "a": 1.9, "r": 0.9, "re": 0.74}),
    ("Buckingham", "A*exp(-B*r) - C/r**6", {"A": 1000.0, "B": 3.5, "C": 30.0, "r": 1.7}),
    ("Debye-Hueckel", "-A*z**2*sqrt(I)/(1 + B*a*sqrt(I))", {"A": 0.5, "z": 2.0, "I": 0.1, "B": 0.33, "a": 3.0}),
    ("Antoine", "10**(A - B/(C + T))", {"A": 8.07, "B": 1730.0, "C": 233.0, "T": 80.0}),
    (
        "Nernst-Goldman",
        "R*T/F*log((pk*ko + pna*nao)/(pk*ki + pna*nai))",
        {
            "R": 8.314,
            "T": 310.0,
            "F": 96485.0,
            "pk": 1.0,
            "ko": 4.0,
            "pna": 0.05,
            "nao": 145.0,
            "ki": 140.0,
            "nai": 12.0,
        },
    ),
    ("Hodgkin-Huxley rate", "0.1*(V + 40)/(1 - exp(-(V + 40)/10))", {"V": -39.0}),
    ("Planck", "2*h*nu**3/c**2/expm1(h*nu/(k*T))", {"h": 1.1, "nu": 0.7, "c": 2.0, "k": 1.2, "T": 3.0}),
    ("Fermi-Dirac", "1/(exp((E - mu)/kT) + 1)", {"E": 1.2, "mu": 1.0, "kT": 0.05}),
    ("Kepler", "E - ecc*sin(E) - M", {"E": 1.2, "ecc": 0.3, "M": 0.9}),
    ("vis-viva", "sqrt(mu*(2/r - 1/a))", {"mu": 398600.0, "r": 7000.0, "a": 8000.0}),
    (
        "haversine",
        "2*R*arcsin(sqrt(sin((p2 - p1)/2)**2 + cos(p1)*cos(p2)*sin((l2 - l1)/2)**2))",
        {"R": 6371.0, "p1": 0.3, "p2": 0.5, "l1": 1.0, "l2": 1.4},
    ),
    ("pendulum", "p**2/(2*m*l**2) + m*g*l*(1 - cos(q))", {"p": 0.5, "m": 1.0, "l": 2.0, "g": 9.81, "q": 0.4}),
    (
        "double pendulum",
        "(p1**2 + 2*p2**2 - 2*p1*p2*cos(q1 - q2))/(2*(1 + sin(q1 - q2)**2)) - 2*g*cos(q1) - g*cos(q2)",
        {"p1": 0.5, "p2": -0.3, "q1": 0.7, "q2": 0.2, "g": 9.81},
    ),
    (
        "Henon-Heiles",
        "(px**2 + py**2)/2 + (x**2 + y**2)/2 + x**2*y - y**3/3",
        {"px": 0.1, "py": 0.2, "x": 0.3, "y": -0.2},
    ),
    ("two-body", "sum(p**2)/2 - 1/norm(q)", {"p": [0.1, 0.9], "q": [1.0, 0.2]}),
    ("Toda", "sum(p**2)/2 + sum(exp(q[1:] - q[:-1]))", {"p": [0.1, 0.9, -0.4], "q": [1.0, 0.2, 0.5]}),
    (
        "restricted three-body",
        "(x**2 + y**2)/2 + (1 - mu)/sqrt((x + mu)**2 + y**2) + mu/sqrt((x - 1 + mu)**2 + y**2)",
        {"x": 0.5, "y": 0.4, "mu": 0.01215},
    ),
    ("Kerr-like metric", "1 - 2*M*r/(r**2 + a**2*cos(theta)**2)", {"M": 1.0, "r": 3.0, "a": 0.5, "theta": 1.0}),
    (
        "Black-Scholes call",
        "d1 = (log(S/K) + (r + sigma**2/2)*T)/(sigma*sqrt(T))\n"
        "d2 = d1 - sigma*sqrt(T)\n"
        "S*(1 + erf(d1/sqrt(2)))/2 - K*exp(-r*T)*(1 + erf(d2/sqrt(2)))/2",
        {"S": 100.0, "K": 105.0, "r": 0.03, "sigma": 0.2, "T": 0.75},
    ),
    (
        "Black-Scholes put",
        "d1 = (log(S/K) + (r - q + sigma**2/2)*T)/(sigma*sqrt(T))\n"
        "K*exp(-r*T)*erfc((d1 - sigma*sqrt(T))/sqrt(2))/2 - S*exp(-q*T)*erfc(d1/sqrt(2))/2",
        {"S": 100.0, "K": 95.0, "r": 0.03, "q": 0.01, "sigma": 0.25, "T": 0.5},
    ),
    (
        "SVI",
        "a + b*(rho*(k - m) + sqrt((k - m)**2 + s**2))",
        {"a": 0.04, "b": 0.4, "rho": -0.4, "k": 0.1, "m": 0.05, "s": 0.2},
    ),
    (
        "Nelson-Siegel",
        "b0 + b1*(1 - exp(-t/tau))/(t/tau) + b2*((1 - exp(-t/tau))/(t/tau) - exp(-t/tau))",
        {"b0": 0.03, "b1": -0.02, "b2": 0.01, "t": 5.0, "tau": 2.0},
    ),
    ("CES", "(a*x**r + (1 - a)*y**r)**(1/r)", {"a": 0.3, "x": 2.0, "y": 3.0, "r": -0.5}),
    ("Cobb-Douglas", "A*L**b*K**a", {"A": 1.1, "L": 3.0, "K": 2.0, "a": 0.3, "b": 0.7}),
]

STATISTICS: list[tuple[str, str, Point]] = [
    ("normal", "-log(2*pi)/2 - log(s) - (x - m)**2/(2*s**2)", {"x": 1.0, "m": 0.3, "s": 1.7}),
    ("log-normal", "-log(x*s*sqrt(2*pi)) - (log(x) - m)**2/(2*s**2)", {"x": 1.5, "m": 0.3, "s": 0.7}),
    ("gamma", "a*log(b) - lgamma(a) + (a - 1)*log(x) - b*x", {"a": 2.5, "b": 1.2, "x": 0.8}),
    ("inverse gamma", "a*log(b) - lgamma(a) - (a + 1)*log(x) - b/x", {"a": 2.5, "b": 1.2, "x": 0.8}),
    (
        "beta",
        "(a - 1)*log(x) + (b - 1)*log(1 - x) - lgamma(a) - lgamma(b) + lgamma(a + b)",
        {"a": 2.5, "b": 0.7, "x": 0.3},
    ),
    (
        "Student t",
        "lgamma((nu + 1)/2) - lgamma(nu/2) - log(nu*pi)/2 - log(s) - (nu + 1)/2*log(1 + ((x - m)/s)**2/nu)",
        {"nu": 4.5, "x": 1.0, "m": 0.2, "s": 1.3},
    ),
    ("Cauchy", "-log(pi*g*(1 + ((x - m)/g)**2))", {"x": 1.0, "m": 0.3, "g": 0.8}),
    ("Laplace", "-log(2*b) - abs(x - m)/b", {"x": 1.0, "m": 0.3, "b": 0.8}),
    ("logistic", "-(x - m)/s - log(s) - 2*log(1 + exp(-(x - m)/s))", {"x": 1.0, "m": 0.3, "s": 0.8}),
    ("Gumbel", "-log(b) - (x - m)/b - exp(-(x - m)/b)", {"x": 1.0, "m": 0.3, "b": 0.8}),
    ("Weibull", "log(k/lam) + (k - 1)*log(x/lam) - (x/lam)**k", {"k": 1.7, "lam": 2.0, "x": 1.1}),
    ("Pareto", "log(a) + a*log(xm) - (a + 1)*log(x)", {"a": 2.0, "xm": 1.0, "x": 1.8}),
    ("Poisson", "k*log(lam) - lam - lgamma(k + 1)", {"k": 3.0, "lam": 2.2}),
    (
        "negative binomial",
        "lgamma(k + r) - lgamma(k + 1) - lgamma(r) + r*log(r/(r + m)) + k*log(m/(r + m))",
        {"k": 4.0, "r": 2.3, "m": 3.1},
    ),
    (
        "binomial",
        "lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k*log(p) + (n - k)*log1p(-p)",
        {"n": 9.0, "k": 4.0, "p": 0.35},
    ),
    ("logit-Bernoulli", "y*x - log(1 + exp(x))", {"y": 1.0, "x": -0.7}),
    (
        "generalised extreme value",
        "t = (1 + xi*(x - m)/s)**(-1/xi)\n-log(s) + (xi + 1)*log(t) - t",
        {"xi": 0.2, "x": 1.0, "m": 0.1, "s": 0.9},
    ),
    ("skew normal", "log(2) - log(2*pi)/2 - x**2/2 + log((1 + erf(a*x/sqrt(2)))/2)", {"x": 0.5, "a": 2.0}),
    ("wrapped Cauchy", "log((1 - r**2)/(2*pi*(1 + r**2 - 2*r*cos(t - m))))", {"r": 0.6, "t": 1.0, "m": 0.2}),
    ("von Mises kernel", "k*cos(x - m) - k", {"k": 2.0, "x": 1.0, "m": 0.2}),
    (
        "Dirichlet",
        "sum((a - 1)*log(p)) + lgamma(sum(a)) - sum(lgamma(a))",
        {"a": [1.5, 2.0, 0.7], "p": [0.2, 0.5, 0.3]},
    ),
    (
        "multinomial logit",
        "x @ B[:, 1] - logsumexp(x @ B)",
        {"x": [0.5, -1.0], "B": [[0.1, 0.4, -0.2], [0.3, -0.5, 0.2]]},
    ),
    (
        "multivariate normal",
        "-(log(det(S)) + (x - m) @ inv(S) @ (x - m) + 3*log(2*pi))/2",
        {"x": [0.5, 0.1, -0.3], "m": [0.0, 0.2, 0.1], "S": [[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]]},
    ),
    (
        "Kullback-Leibler of normals",
        "log(s2/s1) + (s1**2 + (m1 - m2)**2)/(2*s2**2) - 1/2",
        {"m1": 0.1, "s1": 0.9, "m2": 0.5, "s2": 1.4},
    ),
    ("entropy", "-sum(p*log(p))", {"p": [0.2, 0.5, 0.3]}),
    ("Box-Cox", "(x**lam - 1)/lam", {"x": 2.0, "lam": 0.3}),
    ("probit", "log(erfc(-x/sqrt(2))/2)", {"x": -1.3}),
    ("Huber", "where(abs(r) <= 1, r**2/2, abs(r) - 1/2)", {"r": 1.7}),
    ("Tukey biweight", "where(abs(r) < 4.685, 4.685**2/6*(1 - (1 - (r/4.685)**2)**3), 4.685**2/6)", {"r": 2.0}),
    ("pseudo-Huber", "d**2*(sqrt(1 + (a/d)**2) - 1)", {"d": 1.3, "a": 0.7}),
    ("quantile loss", "maximum(q*(y - f), (q - 1)*(y - f))", {"q": 0.9, "y": 1.0, "f": 1.4}),
]

_A = [[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [0.5, -0.6, 1.8]]
_B = [[0.4, -0.3, 0.6], [0.7, 0.9, -0.2], [0.1, 0.5, 1.1]]
_X = [[1.2, -0.4, 0.3], [0.5, 2.1, -0.7], [0.2, 0.6, 1.4]]
_S = [[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]]
_a = [0.5, -1.2, 0.8]
_b = [1.1, 0.4, -0.6]
_W = [[0.3, -0.2, 0.5], [0.8, 0.1, -0.4]]

COOKBOOK: list[tuple[str, str, Point]] = [
    ("46 det", "det(X)", {"X": _X}),
    ("49 det of a product", "det(A @ X @ B)", {"A": _A, "X": _X, "B": _B}),
    ("51 det of a quadratic form", "det(X.T @ A @ X)", {"X": _X, "A": _A}),
    (
        "53 det of a quadratic form, not square",
        "det(X.T @ A @ X)",
        {"X": [[1.0, 0.2], [0.3, -0.5], [0.7, 1.1]], "A": _A},
    ),
    ("55 log det of a Gram matrix", "log(det(X.T @ X))", {"X": [[1.0, 0.2], [0.3, -0.5], [0.7, 1.1]]}),
    ("57 log abs det", "log(abs(det(X)))", {"X": [[0.0, 1.0, 0.2], [1.0, 0.0, 0.3], [0.1, 0.2, 1.0]]}),
    ("58 det of a power", "det(X @ X @ X)", {"X": _X}),
    ("det of a singular matrix", "det(X)", {"X": [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 1.0, 1.0]]}),
    ("det of a rank-one matrix", "det(X)", {"X": [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]}),
    ("det squared of a zero matrix", "det(X)**2", {"X": [[0.0, 0.0], [0.0, 0.0]]}),
    ("59 inverse", "inv(X)", {"X": _X}),
    ("61 bilinear form of an inverse", "a @ inv(X) @ b", {"a": _a, "X": _X, "b": _b}),
    ("62 det of an inverse", "det(inv(X))", {"X": _X}),
    ("63 trace of an inverse", "trace(A @ inv(X) @ B)", {"A": _A, "X": _X, "B": _B}),
    ("64 trace of an inverse of a sum", "trace(inv(X + A))", {"X": _X, "A": _A}),
    ("69 linear form", "x @ a", {"x": _a, "a": _b}),
    ("70 bilinear form", "a @ X @ b", {"a": _a, "X": _X, "b": _b}),
    ("71 transposed bilinear form", "a @ X.T @ b", {"a": _a, "X": _X, "b": _b}),
    ("76 sum of a Gram matrix", "sum(X.T @ X)", {"X": _W}),
    ("77 bilinear form of a Gram matrix", "b @ X.T @ X @ c", {"b": _a, "X": _X, "c": _b}),
    ("78 two affine forms", "(B @ x + b) @ C @ (D @ x + d)", {"B": _B, "x": _a, "b": _b, "C": _X, "D": _A, "d": _a}),
    ("81 quadratic form", "x @ B @ x", {"x": _a, "B": _B}),
    ("82 form with D inside", "b @ X.T @ D @ X @ c", {"b": _a, "X": _X, "D": _A, "c": _b}),
    ("83 form of a shifted product", "(X @ b + c) @ D @ (X @ b + c)", {"X": _X, "b": _a, "c": _b, "D": _A}),
    ("84 weighted least squares", "(x - A @ s) @ W @ (x - A @ s)", {"x": _a, "A": _A, "s": _b, "W": _S}),
    ("90 power sandwiched", "a @ X @ X @ X @ b", {"a": _a, "X": _X, "b": _b}),
    ("92 norm of a power", "a @ (X @ X).T @ X @ X @ b", {"a": _a, "X": _X, "b": _b}),
    ("93 quotient of forms", "(x @ A @ x)/(x @ B @ x)", {"x": _a, "A": _A, "B": _S}),
    ("99 trace", "trace(X)", {"X": _X}),
    ("100 trace of a product", "trace(X @ A)", {"X": _X, "A": _A}),
    ("101 trace of a sandwich", "trace(A @ X @ B)", {"A": _A, "X": _X, "B": _B}),
    ("102 with a transpose", "trace(A @ X.T @ B)", {"A": _A, "X": _X, "B": _B}),
    ("105 Kronecker", "trace(kron(A, X))", {"A": [[1.0, 0.5], [0.2, 2.0]], "X": [[0.3, 0.7], [0.1, 0.9]]}),
    ("106 trace of a square", "trace(X @ X)", {"X": _X}),
    ("107 square and factor", "trace(X @ X @ B)", {"X": _X, "B": _B}),
    ("108 quadratic trace", "trace(X.T @ B @ X)", {"X": _X, "B": _B}),
    ("113 quadratic trace with C", "trace(B @ X.T @ C @ X)", {"B": _B, "X": _X, "C": _A}),
    ("116 sandwich with C", "trace(A @ X @ B @ X.T @ C)", {"A": _A, "X": _X, "B": _B, "C": _S}),
    ("118 squared affine trace", "trace((A @ X @ B + C) @ (A @ X @ B + C).T)", {"A": _A, "X": _X, "B": _B, "C": _S}),
    ("119 outer trace of a Kronecker product", "trace(X)*trace(X)", {"X": _X}),
    ("121 trace of a third power", "trace(X @ X @ X)", {"X": _X}),
    ("122 trace of powers with A", "trace(A @ X @ X @ X)", {"A": _A, "X": _X}),
    ("123 fourth order trace", "trace(B @ X.T @ X @ X.T @ X @ B.T)", {"B": _B, "X": _X}),
    ("124 trace of an inverse, squared", "trace(A @ inv(X) @ B)**2", {"A": _A, "X": _X, "B": _B}),
    ("125 trace of inverse quadratic", "trace(inv(X.T @ C @ X) @ A)", {"X": _X, "C": _S, "A": _A}),
    (
        "126 ratio of quadratics",
        "trace(inv(X.T @ C @ X) @ (X.T @ B @ X))",
        {"X": [[1.0, 0.2], [0.3, -0.5], [0.7, 1.1]], "C": _S, "B": _B},
    ),
    ("127 regularised ratio", "trace(inv(A + X.T @ C @ X) @ (X.T @ B @ X))", {"A": _A, "X": _X, "C": _S, "B": _B}),
    ("129 distance", "norm(x - a)", {"x": _a, "a": _b}),
    ("130 unit direction", "(x - a)/norm(x - a)", {"x": _a, "a": _b}),
    ("131 squared norm", "norm(x)**2", {"x": _a}),
    ("132 Frobenius norm squared", "norm(X)**2", {"X": _W}),
    ("Frobenius norm of a residual", "norm(A - X @ X.T)", {"A": _A, "X": _X}),
    ("137 diagonal", "trace(A @ diag(x))", {"A": _A, "x": _a}),
    ("138 symmetric part", "log(det((X + X.T)/2))", {"X": _X}),
    (
        "140 Toeplitz",
        "T = [[t[2], t[3], t[4]], [t[1], t[2], t[3]], [t[0], t[1], t[2]]]\ntrace(A @ T)",
        {"A": _A, "t": [0.1, 0.2, 0.3, 0.4, 0.5]},
    ),
    ("elementwise chain", "sum(exp(-(X @ a)**2))", {"X": _W, "a": _a}),
    ("Hadamard form", "sum((A*X) @ (B*X))", {"A": _A, "X": _X, "B": _B}),
]

MATRICES: list[tuple[str, str, Point]] = [
    ("matrixcalculus: least squares", "norm(A @ x - y)**2", {"A": _W, "x": _a, "y": [0.3, -0.9]}),
    (
        "matrixcalculus: logistic regression",
        "sum(log(1 + exp(-y*(X @ w)))) + c/2*(w @ w)",
        {"X": _W, "y": [1.0, -1.0], "w": _a, "c": 0.1},
    ),
    (
        "matrixcalculus: symmetric factorisation",
        "norm(T - U @ V.T)**2",
        {"T": _W, "U": [[0.4], [0.5]], "V": [[0.3], [0.1], [-0.2]]},
    ),
    ("matrixcalculus: example", "x @ A @ x + c*sin(y) @ x", {"x": _a, "A": _A, "c": 0.7, "y": _b}),
    ("matrixcalculus: softmax loss", "-log(exp(W[0] @ x)/sum(exp(W @ x)))", {"W": _W, "x": _a}),
    ("matrixcalculus: GMM term", "exp(-(x - m) @ S @ (x - m)/2)", {"x": _a, "m": _b, "S": _S}),
    ("Magnus and Neudecker: x'Ax", "x @ A @ x / (x @ x)", {"A": _A, "x": _a}),
    ("Magnus and Neudecker: tr(AXBX')", "trace(A @ X @ B @ X.T)", {"A": _A, "X": _X, "B": _B}),
    ("Magnus and Neudecker: log|X'X|", "log(det(X @ X.T))", {"X": _W}),
    ("Magnus and Neudecker: XAX'", "X @ A @ X.T", {"X": _W, "A": _A}),
    ("Magnus and Neudecker: projection", "X @ inv(X.T @ X) @ X.T", {"X": [[1.0, 0.2], [0.3, -0.5], [0.7, 1.1]]}),
    ("Woodbury", "inv(A + outer(u, v))", {"A": _A, "u": _a, "v": _b}),
    ("Gaussian process likelihood", "y @ solve(K, y)/2 + log(det(K))/2", {"K": _S, "y": _a}),
    ("kernel matrix", "exp(-sum((X[:, None] - X[None, :])**2, axis=2)/(2*s**2))", {"X": _W, "s": 0.8}),
    ("ordinary least squares", "solve(X.T @ X, X.T @ y)", {"X": [[1.0, 0.2], [0.3, -0.5], [0.7, 1.1]], "y": _a}),
    (
        "ridge",
        "solve(X.T @ X + lam*eye(2), X.T @ y)",
        {"X": [[1.0, 0.2], [0.3, -0.5], [0.7, 1.1]], "y": _a, "lam": 0.3},
    ),
    ("Kalman gain", "P @ H.T @ inv(H @ P @ H.T + R)", {"P": _S, "H": _W, "R": [[0.5, 0.1], [0.1, 0.4]]}),
    ("covariance update", "(eye(3) - outer(k, h)) @ P @ (eye(3) - outer(k, h)).T", {"k": _a, "h": _b, "P": _S}),
    (
        "Cayley transform",
        "inv(eye(3) + S) @ (eye(3) - S)",
        {"S": [[0.0, 0.3, -0.2], [-0.3, 0.0, 0.4], [0.2, -0.4, 0.0]]},
    ),
    ("LogSumExp", "logsumexp(A @ x)", {"A": _A, "x": _a}),
    ("row softmax", "softmax(X)", {"X": _W}),
    ("column softmax", "softmax(X, axis=0)", {"X": _W}),
    ("attention", "softmax(Q @ K.T/sqrt(3)) @ V", {"Q": _W, "K": _X, "V": _B}),
    ("layer norm", "m = mean(x)\n(x - m)/sqrt(mean((x - m)**2) + 1e-5)*g + b", {"x": _a, "g": _b, "b": _a}),
    ("GELU, exact", "sum(x*(1 + erf(x/sqrt(2)))/2)", {"x": _a}),
    ("GELU, tanh", "sum(0.5*x*(1 + tanh(sqrt(2/pi)*(x + 0.044715*x**3))))", {"x": _a}),
    ("Swish", "sum(x*sigmoid(x))", {"x": _a}),
    ("Mish", "sum(x*tanh(softplus(x)))", {"x": _a}),
    ("SELU", "sum(where(x > 0, 1.0507*x, 1.75810*(exp(x) - 1)))", {"x": _a}),
    ("cross entropy", "-sum(t*log_softmax(W @ x))", {"t": [0.0, 1.0], "W": _W, "x": _a}),
    ("focal loss", "-(1 - sigmoid(x))**2*log(sigmoid(x))", {"x": 0.7}),
    (
        "two layers",
        "sum(W2 @ tanh(W1 @ x + b1))",
        {"W1": _W, "b1": [0.1, -0.2], "W2": [[0.4, 0.6], [-0.7, 0.2]], "x": _a},
    ),
    (
        "LSTM cell",
        "f = sigmoid(U @ h + W @ x)\nf*c + (1 - f)*tanh(V @ h)",
        {
            "U": [[0.4, 0.6], [-0.7, 0.2]],
            "h": [0.3, -0.1],
            "W": _W,
            "x": _a,
            "V": [[0.1, 0.9], [0.5, -0.3]],
            "c": [0.2, 0.8],
        },
    ),
    (
        "convolution by slices",
        "sum((w[0]*x[:-2] + w[1]*x[1:-1] + w[2]*x[2:])**2)",
        {"x": [0.1, 0.5, -0.3, 0.8, 0.2], "w": _a},
    ),
    ("cosine similarity", "(a @ b)/(norm(a)*norm(b))", {"a": _a, "b": _b}),
    ("contrastive", "maximum(0, 1 + norm(a - b) - norm(a - c))", {"a": _a, "b": _b, "c": [0.4, -1.0, 0.7]}),
    ("centring", "(eye(3) - 1/3) @ X", {"X": _X}),
    ("group lasso", "sum(sqrt(sum(X**2, axis=1)))", {"X": _W}),
    ("cumulative", "sum(exp(cumsum(x)))", {"x": _a}),
    ("triangles", "sum(tril(A) @ triu(A))", {"A": _A}),
    (
        "ADBench GMM",
        "L = [[exp(q[0]), 0], [l, exp(q[1])]]\nalpha + sum(q) - norm(L @ (x - mu))**2/2",
        {"q": [0.1, -0.2], "l": 0.4, "x": [0.5, 1.0], "mu": [0.2, -0.1], "alpha": 0.3},
    ),
    (
        "ADBench BA projection",
        "th = norm(r)\nk = r/th\np = X - C\nv = p*cos(th) + cross(k, p)*sin(th) + k*(k @ p)*(1 - cos(th))\n"
        "u = v[:2]/v[2]\ns = u @ u\nx0 + f*u*(1 + k1*s + k2*s**2)",
        {
            "r": [0.1, -0.2, 0.3],
            "C": [0.4, 0.1, -3.0],
            "X": [0.3, 0.7, 1.0],
            "x0": [0.1, 0.2],
            "f": 1.5,
            "k1": 0.1,
            "k2": 0.01,
        },
    ),
    ("ADBench hand bone", "c = cos(a)\ns = sin(a)\n[[1, 0, 0], [0, c, -s], [0, s, c]] @ P", {"a": 0.4, "P": _a}),
    ("rotation about z", "[[cos(t), -sin(t), 0], [sin(t), cos(t), 0], [0, 0, 1]] @ p", {"t": 0.6, "p": _a}),
    (
        "Rodrigues",
        "th = sqrt(w @ w)\nK = [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]\n"
        "eye(3) + sin(th)/th*K + (1 - cos(th))/th**2*(K @ K)",
        {"w": [0.3, -0.5, 0.2]},
    ),
    (
        "quaternion to matrix",
        "[[1 - 2*(q[2]**2 + q[3]**2), 2*(q[1]*q[2] - q[0]*q[3])],"
        " [2*(q[1]*q[2] + q[0]*q[3]), 1 - 2*(q[1]**2 + q[3]**2)]]",
        {"q": [0.8, 0.1, 0.5, -0.3]},
    ),
    (
        "quaternion product",
        "[p[0]*q[0] - p[1:] @ q[1:], p[0]*q[1] + q[0]*p[1] + p[2]*q[3] - p[3]*q[2]]",
        {"p": [0.8, 0.1, 0.5, -0.3], "q": [0.2, 0.7, -0.4, 0.6]},
    ),
    (
        "rigid transform",
        "R = [[cos(t), -sin(t)], [sin(t), cos(t)]]\nsum((R @ p + d - q)**2)",
        {"t": 0.6, "p": [1.0, 2.0], "d": [0.1, 0.3], "q": [0.5, -0.2]},
    ),
    (
        "planar arm",
        "[l1*cos(q[0]) + l2*cos(q[0] + q[1]), l1*sin(q[0]) + l2*sin(q[0] + q[1])]",
        {"q": [0.4, 0.9], "l1": 1.0, "l2": 0.7},
    ),
    (
        "cart-pole",
        "(F + m*sin(t)*(l*w**2 + g*cos(t)))/(M + m*sin(t)**2)",
        {"F": 1.0, "m": 0.2, "t": 0.3, "l": 0.5, "w": 0.7, "g": 9.81, "M": 1.0},
    ),
    (
        "unicycle",
        "[x[0] + v*cos(x[2])*dt, x[1] + v*sin(x[2])*dt, x[2] + w*dt]",
        {"x": _a, "v": 1.0, "w": 0.3, "dt": 0.1},
    ),
    (
        "Neo-Hookean",
        "J = det(F)\nmu/2*(trace(F.T @ F) - 3 - 2*log(J)) + lam/2*log(J)**2",
        {"F": _A, "mu": 0.8, "lam": 1.3},
    ),
    ("Green strain", "(F.T @ F - eye(3))/2", {"F": _A}),
    ("Rayleigh quotient", "(x @ S @ x)/(x @ x)", {"S": _S, "x": _a}),
    (
        "seed 1",
        "log(softmax(X @ y))",
        {"X": [[1.0, 0.2, 0.3, -0.4], [0.5, 0.6, -0.7, 0.8]], "y": [0.1, 0.4, -0.3, 0.6]},
    ),
    ("seed 8", "det([[sin(x), 0], [0, cos(y)]])**2", {"x": 0.4, "y": 0.9}),
]


def _norm(x: Any) -> Any:
    return sp.sqrt((x.T * x)[0, 0])


def _det(X: Any) -> Any:
    return sp.Determinant(X)


def _trace(X: Any) -> Any:
    return sp.Trace(X)


Builder = Callable[..., Any]
SYMPY: dict[str, Builder] = {
    "46 det": _det,
    "49 det of a product": lambda A, X, B: sp.Determinant(A * X * B),
    "51 det of a quadratic form": lambda X, A: sp.Determinant(X.T * A * X),
    "53 det of a quadratic form, not square": lambda X, A: sp.Determinant(X.T * A * X),
    "55 log det of a Gram matrix": lambda X: sp.log(sp.Determinant(X.T * X)),
    "57 log abs det": lambda X: sp.log(sp.Abs(sp.Determinant(X))),
    "58 det of a power": lambda X: sp.Determinant(X**3),
    "det of a singular matrix": _det,
    "det of a rank-one matrix": _det,
    "59 inverse": lambda X: X.I,
    "61 bilinear form of an inverse": lambda a, X, b: (a.T * X.I * b)[0, 0],
    "62 det of an inverse": lambda X: sp.Determinant(X.I),
    "63 trace of an inverse": lambda A, X, B: sp.Trace(A * X.I * B),
    "64 trace of an inverse of a sum": lambda X, A: sp.Trace((X + A).I),
    "69 linear form": lambda x, a: (x.T * a)[0, 0],
    "70 bilinear form": lambda a, X, b: sp.Trace(a.T * X * b),
    "71 transposed bilinear form": lambda a, X, b: (a.T * X.T * b)[0, 0],
    "81 quadratic form": lambda x, B: (x.T * B * x)[0],
    "83 form of a shifted product": lambda X, b, c, D: ((X * b + c).T * D * (X * b + c))[0, 0],
    "90 power sandwiched": lambda a, X, b: (a.T * X**3 * b)[0, 0],
    "93 quotient of forms": lambda x, A, B: (x.T * A * x)[0, 0] / (x.T * B * x)[0, 0],
    "99 trace": _trace,
    "101 trace of a sandwich": lambda A, X, B: sp.Trace(A * X * B),
    "102 with a transpose": lambda A, X, B: sp.Trace(A * X.T * B),
    "105 Kronecker": lambda A, X: sp.Trace(sp.KroneckerProduct(A, X)),
    "108 quadratic trace": lambda X, B: sp.Trace(X.T * B * X),
    "118 squared affine trace": lambda A, X, B, C: sp.Trace((A * X * B + C) * (A * X * B + C).T),
    "119 outer trace of a Kronecker product": lambda X: sp.Trace(sp.KroneckerProduct(X, X)),
    "121 trace of a third power": lambda X: sp.Trace(X**3),
    "125 trace of inverse quadratic": lambda X, C, A: sp.Trace((X.T * C * X).I * A),
    "127 regularised ratio": lambda A, X, C, B: sp.Trace((A + X.T * C * X).I * (X.T * B * X)),
    "129 distance": lambda x, a: _norm(x - a),
    "130 unit direction": lambda x, a: (x - a) / _norm(x - a),
    "132 Frobenius norm squared": lambda X: sp.Trace(X.T * X),
    "137 diagonal": lambda A, x: sp.Trace(A * sp.DiagMatrix(x)),
    "138 symmetric part": lambda X: sp.log(sp.Determinant((X + X.T) / 2)),
    "elementwise chain": lambda X, a: sp.Trace(sp.OneMatrix(1, 2) * (-sp.HadamardPower(X * a, 2)).applyfunc(sp.exp)),
    "Hadamard form": lambda A, X, B: sp.Trace(sp.OneMatrix(3, 3) * sp.HadamardProduct(A, X) * sp.HadamardProduct(B, X)),
    "matrixcalculus: least squares": lambda A, x, y: ((A * x - y).T * (A * x - y))[0, 0],
    "Magnus and Neudecker: XAX'": lambda X, A: X * A * X.T,
    "Magnus and Neudecker: projection": lambda X: X * (X.T * X).I * X.T,
    "Woodbury": lambda A, u, v: (A + u * v.T).I,
    "Gaussian process likelihood": lambda K, y: (y.T * K.I * y)[0, 0] / 2 + sp.log(sp.Determinant(K)) / 2,
    "ordinary least squares": lambda X, y: (X.T * X).I * X.T * y,
    "ridge": lambda X, y, lam: (X.T * X + lam * sp.Identity(2)).I * X.T * y,
    "Kalman gain": lambda P, H, R: P * H.T * (H * P * H.T + R).I,
    "covariance update": lambda k, h, P: (sp.Identity(3) - k * h.T) * P * (sp.Identity(3) - k * h.T).T,
    "Cayley transform": lambda S: (sp.Identity(3) + S).I * (sp.Identity(3) - S),
    "rotation about z": lambda t, p: sp.Matrix([[sp.cos(t), -sp.sin(t), 0], [sp.sin(t), sp.cos(t), 0], [0, 0, 1]]) * p,
    "Green strain": lambda F: (F.T * F - sp.Identity(3)) / 2,
    "Neo-Hookean": lambda F, mu, lam: (
        mu / 2 * (sp.Trace(F.T * F) - 3 - 2 * sp.log(sp.Determinant(F))) + lam / 2 * sp.log(sp.Determinant(F)) ** 2
    ),
    "Rayleigh quotient": lambda S, x: (x.T * S * x)[0, 0] / (x.T * x)[0, 0],
    "seed 8": lambda x, y: sp.Matrix([[sp.sin(x), 0], [0, sp.cos(y)]]).det() ** 2,
}
